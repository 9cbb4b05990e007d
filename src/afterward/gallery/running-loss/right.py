"""With `.item()` the running loss is a number, and each step's graph goes when the step is over."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
running_loss = 0.0

for _ in range(20):
    inputs = torch.randn(16, 6)
    loss = (model(inputs) - inputs.sum(dim=1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running_loss += loss.item()

print(f"mean loss {running_loss / 20:.4f}")
