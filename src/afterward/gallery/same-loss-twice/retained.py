"""The same step with `retain_graph=True`: it runs, and every gradient counts twice."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
inputs, labels = torch.randn(64, 8), torch.randint(0, 3, (64,))

for _ in range(12):
    loss = nn.functional.cross_entropy(model(inputs), labels)
    (expected,) = torch.autograd.grad(loss, [model[0].weight], retain_graph=True)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    loss.backward()
    factor = (model[0].weight.grad / expected).nanmedian().item()
    optimizer.step()

print(f"the gradient that was stepped with is {factor:.0f} times the loss's gradient")
