import random

import torch

torch.manual_seed(0)
random.seed(0)
critic = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt = torch.optim.Adam(critic.parameters())
replay = []
state = torch.zeros(2)
for t in range(12):
    value = (
        critic(state)
        + critic(-state)
    )
    following = state + 0.1 * torch.randn(2)
    replay.append({"s": state, "r": -following.norm(), "v": value, 's2': following})
    state = following
    if t >= 4:
        batch = random.sample(replay, 3)
        target = torch.stack([b["r"] + 0.9 * critic(b["s2"]).detach().squeeze() for b in batch])
        loss = (torch.stack([b['v'].squeeze() for b in batch]) - target).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
