"""Three agents with a shared critic: each agent's loss goes through the actions of all of them."""

import torch
from torch import nn

torch.manual_seed(0)
AGENTS = 3
actors = [nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2), nn.Tanh()) for _ in range(AGENTS)]
critic = nn.Sequential(nn.Linear(AGENTS * 8, 32), nn.Tanh(), nn.Linear(32, AGENTS))
optimizers = [torch.optim.Adam(actor.parameters(), lr=1e-3) for actor in actors]

for step in range(5):
    seen = torch.randn(16, AGENTS, 6)
    actions = [actor(seen[:, number]) for number, actor in enumerate(actors)]
    values = critic(torch.cat([seen.flatten(1), *actions], dim=1))
    for number, optimizer in enumerate(optimizers):
        loss = -values[:, number].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"step {step} value {values.mean().item():.4f}")
