"""What lives when: tensors, nodes, graphs by weakref, gc and storage counts, at exact points of training steps."""
import gc
import sys
import weakref

import torch
from torch import nn

gc.collect()
torch.manual_seed(0)
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), 0.1)
deaths = []


def track(t, name):
    weakref.finalize(t, deaths.append, name)
    return t


def step(i):
    x = track(torch.randn(2, 3), f"x{i}")
    h = track(net(x), f"h{i}")
    loss = track(h.pow(2).sum(), f"l{i}")
    opt.zero_grad()
    loss.backward()
    print(i, deaths[-4:], sys.getrefcount(loss), sys.getrefcount(h), sys.getrefcount(x), sys.getrefcount(loss.grad_fn))
    opt.step()
    return loss.item()


for i in range(12):
    step(i)
    print(deaths[-3:])
kept = []
for i in range(4):
    kept.append(weakref.ref(net(torch.ones(1, 3))))
print([k() is None for k in kept], sys.getrefcount(net), sys.getrefcount(net.weight), sys.getrefcount(opt))


def failing():
    x = track(torch.ones(3, requires_grad=True), "fx")
    y = track((x * x).sum(), "fy")
    y.backward()
    y.backward()


try:
    failing()
except RuntimeError:
    print("inside", deaths[-2:])
print("outside", deaths[-2:], gc.collect() >= 0, sum(isinstance(o, torch.Tensor) and o.grad_fn is not None for o in gc.get_objects()))
w = torch.ones(2, requires_grad=True)
node = (w * 2).grad_fn
print(sys.getrefcount(node), node is (w * 2).grad_fn, (n := (w * 2)).grad_fn is n.grad_fn)
