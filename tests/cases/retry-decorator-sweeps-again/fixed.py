import functools

import torch
from torch import nn

torch.manual_seed(91)


def retry(times, on):
    def wrap(fn):
        @functools.wraps(fn)
        def inner(*args, **kwargs):
            for attempt in range(times):
                try:
                    return fn(*args, **kwargs)
                except on as exc:
                    print("attempt", attempt, "failed:", exc)
            return None

        return inner

    return wrap


class Learner:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 10), nn.ReLU(), nn.Linear(10, 1))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.01)

    def loss(self, x, y):
        return (self.net(x).squeeze(-1) - y).square().mean()

    @retry(times=2, on=FloatingPointError)
    def update(self, x, y, limit):
        self.opt.zero_grad()
        loss = self.loss(x, y)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.net.parameters(), 1e3)
        if norm > limit:
            raise FloatingPointError("gradient norm %.1f" % norm)
        self.opt.step()
        return loss.item()


learner = Learner()
for epoch in range(2):
    for k in range(4):
        x = torch.randn(8, 4)
        y = x[:, 0] * (100.0 if (epoch, k) == (1, 2) else 1.0)
        value = learner.update(x, y, limit=20)
    print("epoch", epoch, value and round(value, 4))
