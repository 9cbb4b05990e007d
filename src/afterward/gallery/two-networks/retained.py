"""The same with the `retain_graph=True` that is said to be needed: nothing uses it."""

import torch
from torch import nn

torch.manual_seed(0)
first = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
second = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=1e-2)

for _ in range(12):
    inputs = torch.randn(16, 5)
    first_loss = (first(inputs) - 1).pow(2).mean()
    second_loss = (second(inputs) + 1).pow(2).mean()
    optimizer.zero_grad()
    first_loss.backward(retain_graph=True)
    second_loss.backward()
    optimizer.step()

print(f"losses {first_loss.item():.4f} and {second_loss.item():.4f}")
