"""One sample at a time: zero the gradients, forward, backward, step."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
inputs = torch.randn(128, 8)
targets = inputs.sum(dim=1, keepdim=True)

for epoch in range(3):
    for sample, target in zip(inputs, targets, strict=True):
        optimizer.zero_grad()
        loss = (model(sample) - target).pow(2).mean()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {len(inputs)} passes, last loss {loss.item():.4f}")
