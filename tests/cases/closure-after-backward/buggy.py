import functools

import torch
from torch import nn

torch.manual_seed(62)


def objective(net, batch, l2=1e-4):
    x, y = batch
    fit = nn.functional.huber_loss(net(x), y)
    return fit + l2 * sum(p.square().sum() for p in net.parameters())


def closure(net, batch):
    loss = objective(net, batch)
    loss.backward()
    return loss


net = nn.Sequential(nn.Linear(3, 14), nn.SiLU(), nn.Linear(14, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
for step in range(12):
    x = torch.randn(20, 3)
    batch = x, x.abs().sum(1, keepdim=True)
    opt.zero_grad()
    loss = objective(net, batch)
    loss.backward()
    opt.step(functools.partial(closure, net, batch))
print("loss", round(loss.item(), 4))
