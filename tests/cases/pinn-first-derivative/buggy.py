import math

import torch
from torch import nn

torch.manual_seed(68)


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(x)


class Field(nn.Module):
    def __init__(self, h=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, h), Sine(), nn.Linear(h, h), Sine(), nn.Linear(h, 1))

    def forward(self, t):
        return self.net(t)


def ode_residual(field, t):
    """u' + u = 0"""
    t = t.requires_grad_()
    u = field(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u))[0]
    return du + u


def boundary(field):
    return (field(torch.zeros(1, 1)) - 1.0).square().mean()


field = Field()
opt = torch.optim.Adam(field.parameters(), lr=5e-3)
for step in range(5):
    points = torch.rand(24, 1) * math.pi
    loss = ode_residual(field, points).square().mean() + 10 * boundary(field)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("residual", round(loss.item(), 4))
