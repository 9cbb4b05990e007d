import itertools

import torch
from torch import nn

torch.manual_seed(38)


def noise(n):
    return torch.randn(n, 4)


class Duel:
    def __init__(self):
        self.g = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        self.d = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
        self.og, self.od = (torch.optim.Adam(m.parameters(), lr=1e-3) for m in (self.g, self.d))

    def round(self, real):
        fake = self.g(noise(len(real)))
        loss_d = nn.functional.softplus(-self.d(real)).mean() + nn.functional.softplus(self.d(fake.detach())).mean()
        self.od.zero_grad()
        loss_d.backward(retain_graph=True)
        self.od.step()
        loss_g = nn.functional.softplus(-self.d(fake)).mean()
        self.og.zero_grad()
        loss_g.backward()
        self.og.step()
        return loss_d.item(), loss_g.item()


duel = Duel()
real = itertools.cycle(torch.randn(3, 10, 2) * 0.2 + 1)
for _ in range(5):
    d, g = duel.round(next(real))
print(round(d, 4), round(g, 4))
