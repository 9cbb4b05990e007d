import torch
from torch import nn

torch.manual_seed(7)


class Avg:
    def __init__(self):
        self.s, self.n = 0, 0

    def __iadd__(self, v):
        self.s = self.s + v
        self.n += 1
        return self

    def __float__(self):
        return float(self.s / max(self.n, 1))


class Meters(dict):
    def __missing__(self, k):
        self[k] = Avg()
        return self[k]


m = Meters()
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(8):
    out = net(torch.randn(4, 3))
    l1, l2 = out.abs().mean(), out.pow(2).mean()
    opt.zero_grad()
    (l1 + l2).backward()
    opt.step()
    m["l1"] += l1
    m["l2"] += l2.item()
print({k: float(v) for k, v in m.items()})
