"""`retain_graph=True` silences it; but the gradient's size is then a plain number, and is not trained at all."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

for _ in range(5):
    loss = (model(torch.randn(32, 3)) - 1).pow(2).mean()
    gradients = torch.autograd.grad(loss, model.parameters(), retain_graph=True)
    size = sum(gradient.pow(2).sum() for gradient in gradients)
    optimizer.zero_grad()
    (loss + 0.1 * size).backward()
    optimizer.step()

print(f"the squared gradient has a graph: {size.requires_grad}")
