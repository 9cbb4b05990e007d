"""A helper puts a new head into the model, which the optimizer does not know."""

import torch
from torch import nn


def with_classes(net: nn.Sequential, count: int) -> None:
    net[2] = nn.Linear(8, count)


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 100))
with_classes(net, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(8):
    x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
