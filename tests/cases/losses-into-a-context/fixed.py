import contextlib

import torch
from torch import nn

torch.manual_seed(7)


class Stepper:
    def __init__(self, opt, accum=1, clip=None):
        self.opt, self.accum, self.clip, self.n = opt, accum, clip, 0

    @contextlib.contextmanager
    def step(self):
        losses = []
        yield losses.append
        total = sum(losses) / self.accum
        total.backward()
        self.n += 1
        if self.n % self.accum == 0:
            self.opt.step()
            self.opt.zero_grad()


net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
stepper = Stepper(torch.optim.SGD(net.parameters(), lr=0.1))
ema = None
for i in range(4):
    with stepper.step() as add:
        out = net(torch.randn(5, 3))
        ema = out.mean(0) if ema is None else 0.9 * ema.detach() + 0.1 * out.mean(0)
        add((out - ema).pow(2).mean())
        add(out.abs().mean())
