"""One linear layer applied to two inputs, two losses, two backward passes."""

import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(10, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=1e-2)

for step in range(5):
    first_loss = (layer(torch.randn(4, 10)) - 1).pow(2).mean()
    second_loss = (layer(torch.randn(4, 10)) + 1).pow(2).mean()
    optimizer.zero_grad()
    first_loss.backward()
    second_loss.backward()
    optimizer.step()
    print(f"step {step} losses {first_loss.item():.4f} and {second_loss.item():.4f}")
