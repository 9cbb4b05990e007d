"""A critic with a gradient penalty; the penalty's own pass frees the graph that the loss still needs."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

for step in range(5):
    real, fake = torch.randn(32, 2) + 2, torch.randn(32, 2)
    share = torch.rand(32, 1)
    mixed = (share * real + (1 - share) * fake).requires_grad_()
    scores = critic(mixed)
    (slope,) = torch.autograd.grad(scores.sum(), mixed)
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty + 1e-3 * scores.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f} penalty {penalty.item():.4f}")
