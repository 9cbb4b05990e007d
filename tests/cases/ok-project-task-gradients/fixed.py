import torch
from torch import nn

torch.manual_seed(7)
net = nn.ModuleDict({"t": nn.Linear(4, 6), "a": nn.Linear(6, 1), "b": nn.Linear(6, 1)})
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(3):
    h = torch.relu(net["t"](torch.randn(5, 4)))
    ls = [net[k](h).pow(2).mean() for k in "ab"]
    gs = []
    for n, l in enumerate(ls):
        opt.zero_grad()
        l.backward(retain_graph=n < len(ls) - 1)
        gs.append([p.grad.clone() if p.grad is not None else torch.zeros_like(p) for p in net.parameters()])
    for p, *g in zip(net.parameters(), *gs):
        p.grad = sum(g)
    opt.step()
