from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import nn

torch.manual_seed(70)
SCHEDULE = ContextVar("schedule")


class Schedule(nn.Module):
    def __init__(self, T=10):
        super().__init__()
        self.raw = nn.Parameter(torch.full((T,), -3.0))

    def alpha_bar(self):
        return torch.cumprod(1 - torch.sigmoid(self.raw), 0)


@contextmanager
def noising(schedule):
    token = SCHEDULE.set(schedule.alpha_bar())
    try:
        yield
    finally:
        SCHEDULE.reset(token)


def q_sample(x, t):
    ab = SCHEDULE.get()[t].unsqueeze(-1)
    eps = torch.randn_like(x)
    return ab.sqrt() * x + (1 - ab).sqrt() * eps, eps


net, schedule = nn.Sequential(nn.Linear(3, 16), nn.SiLU(), nn.Linear(16, 2)), Schedule()
opt = torch.optim.Adam([*net.parameters(), *schedule.parameters()], lr=1e-3)
with noising(schedule):
    for i in range(3):
        x, t = torch.randn(8, 2), torch.randint(0, 10, (8,))
        xt, eps = q_sample(x, t)
        loss = (net(torch.cat([xt, t[:, None] / 10], -1)) - eps).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(i, loss.item())
