import torch
from torch import nn


def set_requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


class Model:
    def __init__(self):
        self.G = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2))
        self.D = nn.Sequential(nn.Linear(2, 6), nn.Tanh(), nn.Linear(6, 1))
        self.og = torch.optim.SGD(self.G.parameters(), lr=0.1)
        self.od = torch.optim.SGD(self.D.parameters(), lr=0.1)

    def step_g(self, z):
        set_requires_grad(self.D, False)
        loss_g = -self.D(self.G(z)).mean()
        self.og.zero_grad()
        loss_g.backward()
        self.og.step()

    def step_d(self, z, x):
        set_requires_grad(self.D, True)
        fake = self.G(z).detach()
        loss = self.D(fake).mean() - self.D(x).mean()
        self.od.zero_grad()
        loss.backward()
        self.od.step()


torch.manual_seed(0)
m = Model()
for _ in range(4):
    z = torch.randn(5, 3)
    m.step_g(z)
    m.step_d(z, torch.randn(5, 2))
