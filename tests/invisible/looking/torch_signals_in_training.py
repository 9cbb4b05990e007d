"""Timers strike inside backward, step and forward; handlers raise, exit, or look at the frame."""
import signal
import sys

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(*[nn.Linear(16, 16) for _ in range(6)])
opt = torch.optim.Adam(net.parameters())
where = set()


def look(num, frame):
    names = []
    while frame:
        names.append(frame.f_code.co_filename)
        frame = frame.f_back
    where.add(any("/afterward/" in n for n in names if n != __file__))


def train(n):
    for _ in range(n):
        opt.zero_grad()
        loss = net(torch.randn(4, 16)).pow(2).mean()
        loss.backward()
        opt.step()
    return loss.item()


signal.signal(signal.SIGALRM, look)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
a = train(200)
signal.setitimer(signal.ITIMER_REAL, 0)
print(where, a)


class Timeout(Exception):
    pass


def stop(num, frame):
    raise Timeout


signal.signal(signal.SIGALRM, stop)
contexts = set()
for k in range(20):
    signal.setitimer(signal.ITIMER_REAL, 0.004 + k * 0.0003)
    try:
        train(10**6)
    except Timeout as e:
        tb, files = e.__traceback__, []
        while tb:
            files.append(tb.tb_frame.f_code.co_filename)
            tb = tb.tb_next
        contexts.add((e.__context__ is None, any("/afterward/" in f for f in files)))
    torch.set_grad_enabled(True)
print(contexts)
signal.signal(signal.SIGTERM, lambda *a: sys.exit(31))
signal.raise_signal(signal.SIGTERM)
