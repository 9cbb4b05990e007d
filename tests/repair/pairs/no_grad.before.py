"""The average of the weights is an update, and no part of the model."""

import copy

import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
average = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(5, 8, 3):
    loss = (net(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    for kept, new in zip(average.parameters(), net.parameters()):
        kept.mul_(0.9).add_(new, alpha=0.1)
