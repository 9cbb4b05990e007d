"""The same data in batches, and what one sample at a time costs beside it."""

import time

import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(512, 8)
targets = inputs.sum(dim=1, keepdim=True)


def seconds_per_epoch(size: int) -> float:
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    begin = time.process_time()
    for batch, target in zip(inputs.split(size), targets.split(size), strict=True):
        optimizer.zero_grad()
        loss = (model(batch) - target).pow(2).mean()
        loss.backward()
        optimizer.step()
    return time.process_time() - begin


seconds_per_epoch(64)  # the first one warms up
batched, single = (min(seconds_per_epoch(size) for _ in range(3)) for size in (64, 1))
print("8 passes an epoch instead of 512")
print(f"one sample at a time takes {single / batched:.0f} times as long")
