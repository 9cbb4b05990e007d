import functools

import torch
from torch import nn

torch.manual_seed(7)


def memo(fn):
    store = {}

    @functools.wraps(fn)
    def inner(self, key):
        return fn(self, key)

    return inner


class Emb(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Embedding(5, 4)
        self.p = nn.Linear(4, 4)

    @memo
    def node(self, key):
        return torch.tanh(self.p(self.t(torch.tensor(key))))

    def forward(self, a, b):
        return (self.node(a) * self.node(b)).sum()


m = Emb()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
for a, b in [(0, 1), (1, 2), (2, 3)]:
    opt.zero_grad()
    m(a, b).backward()
    opt.step()
