"""The same without the score term: nothing fails, and the penalty trains nothing."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)

for _ in range(5):
    real, fake = torch.randn(32, 2) + 2, torch.randn(32, 2)
    share = torch.rand(32, 1)
    mixed = (share * real + (1 - share) * fake).requires_grad_()
    (slope,) = torch.autograd.grad(critic(mixed).sum(), mixed)
    penalty = (slope.norm(dim=1) - 1).pow(2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"penalty {penalty.item():.4f}, and it has a graph: {penalty.requires_grad}")
