import collections
import random

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(32)
random.seed(32)
actor = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
opts = torch.optim.Adam(actor.parameters(), lr=1e-3), torch.optim.Adam(critic.parameters(), lr=5e-3)
memory = collections.deque(maxlen=50)


def interact(obs):
    dist = Categorical(logits=actor(obs))
    action = dist.sample()
    nxt = 0.9 * obs + 0.2 * torch.randn(3)
    memory.append((obs, action, dist.log_prob(action).detach(), float(nxt[0]) * (1 if action else -1), nxt))
    return nxt


def learn(batch):
    obs, action, old, reward, nxt = (torch.stack([torch.as_tensor(f) for f in field]) for field in zip(*batch))
    value = critic(obs).squeeze(-1)
    with torch.no_grad():
        target = reward + 0.9 * critic(nxt).squeeze(-1)
    advantage = (target - value).detach()
    ratio = (Categorical(logits=actor(obs)).log_prob(action) - old).exp()
    losses = -(torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)).mean(), (value - target).square().mean()
    for opt, loss in zip(opts, losses):
        opt.zero_grad()
        loss.backward()
        opt.step()
    return [round(v.item(), 4) for v in losses]


obs = torch.randn(3)
for t in range(40):
    obs = interact(obs)
    if len(memory) >= 16 and t % 8 == 7:
        print(t, learn(random.sample(list(memory), 16)))
