"""A loss is computed before the loop, and printed after it."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = (net(torch.randn(8, 4)) - 1).pow(2).mean()
for step in range(5):
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
