"""A running loss is the statistic and the loss at once: from the second step on, its past has been freed."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
running_loss = 0.0

for step in range(5):
    inputs = torch.randn(16, 6)
    running_loss = running_loss + (model(inputs) - inputs.sum(dim=1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    running_loss.backward()
    optimizer.step()
    print(f"step {step} mean loss {running_loss.item() / (step + 1):.4f}")
