"""Two losses on one output: add them, and call `backward()` on the sum."""

import torch
from torch import nn

torch.manual_seed(0)
layer = nn.Linear(10, 1)
optimizer = torch.optim.SGD(layer.parameters(), lr=1e-2)

for step in range(5):
    output = torch.sigmoid(layer(torch.randn(4, 10)))
    first_loss = (output - 1).pow(2).mean()
    second_loss = output.abs().mean()
    optimizer.zero_grad()
    (first_loss + second_loss).backward()
    optimizer.step()
    print(f"step {step} losses {first_loss.item():.4f} and {second_loss.item():.4f}")
