"""The backward pass stands after the batch loop, on the last loss."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
batches = torch.randn(8, 16, 6)

for epoch in range(5):
    optimizer.zero_grad()
    for batch in batches:
        loss = (model(batch) - batch.sum(dim=1, keepdim=True)).pow(2).mean()
    loss.backward()
    (alone,) = torch.autograd.grad(
        (model(batches[-1]) - batches[-1].sum(dim=1, keepdim=True)).pow(2).mean(), [model.weight]
    )
    print(f"epoch {epoch}: the gradient is that of the last batch alone: {torch.equal(model.weight.grad, alone)}")
    optimizer.step()
