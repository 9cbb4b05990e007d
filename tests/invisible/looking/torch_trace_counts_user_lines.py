"""settrace over a training step: lines of the program and how many calls into torch's python code; after it got hot."""
import sys
from collections import Counter

import torch
from torch import nn

torch.manual_seed(0)
net, count = nn.Sequential(nn.Linear(2, 2), nn.Sigmoid()), Counter()
opt = torch.optim.SGD(net.parameters(), 0.1, foreach=False)


def step(x):
    opt.zero_grad()
    loss = net(x)
    loss = loss.sum()
    loss.backward()
    opt.step()
    return loss.item()


for _ in range(30):
    step(torch.ones(1, 2))


def tracer(frame, event, arg):
    name = frame.f_code.co_filename
    where = "main" if name == __file__ else name.rsplit("site-packages/", 1)[-1]
    if event == "call" or where == "main":
        count[where, frame.f_code.co_name, frame.f_lineno if where == "main" else 0, event] += 1
    return tracer if where == "main" else None


sys.settrace(tracer)
step(torch.ones(1, 2))
sys.settrace(None)
for key, n in sorted(count.items()):
    print(key, n)
prof = Counter()
sys.setprofile(lambda f, e, a: prof.update([(e, getattr(a, "__name__", "") if e[:2] == "c_" else f.f_code.co_name)]))
step(torch.ones(1, 2))
sys.setprofile(None)
print(sorted(prof.items()))
