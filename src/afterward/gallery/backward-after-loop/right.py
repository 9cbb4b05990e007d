"""A backward pass in each iteration: gradients add up, and every batch counts."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
batches = torch.randn(8, 16, 6)

for epoch in range(5):
    optimizer.zero_grad()
    total = 0.0
    for batch in batches:
        loss = (model(batch) - batch.sum(dim=1, keepdim=True)).pow(2).mean() / len(batches)
        loss.backward()
        total += loss.item()
    optimizer.step()
    print(f"epoch {epoch} loss {total:.4f}")
