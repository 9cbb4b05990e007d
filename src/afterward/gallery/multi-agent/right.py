"""Each agent's loss has its own forward pass, in which the others' actions are data."""

import torch
from torch import nn

torch.manual_seed(0)
AGENTS = 3
actors = [nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2), nn.Tanh()) for _ in range(AGENTS)]
critic = nn.Sequential(nn.Linear(AGENTS * 8, 32), nn.Tanh(), nn.Linear(32, AGENTS))
optimizers = [torch.optim.Adam(actor.parameters(), lr=1e-3) for actor in actors]

for step in range(5):
    seen = torch.randn(16, AGENTS, 6)
    with torch.no_grad():
        taken = [actor(seen[:, number]) for number, actor in enumerate(actors)]
    for number, (actor, optimizer) in enumerate(zip(actors, optimizers, strict=True)):
        actions = [*taken[:number], actor(seen[:, number]), *taken[number + 1 :]]
        value = critic(torch.cat([seen.flatten(1), *actions], dim=1))[:, number].mean()
        optimizer.zero_grad()
        (-value).backward()
        optimizer.step()
    print(f"step {step} value of the last agent {value.item():.4f}")
