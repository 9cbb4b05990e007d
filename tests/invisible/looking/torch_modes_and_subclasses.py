"""Function mode, dispatch mode, a subclass with __torch_function__ and one with __torch_dispatch__: every call that they see in training."""
from collections import Counter

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


class F(TorchFunctionMode):
    def __init__(self):
        self.c = Counter()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.c[getattr(func, "__name__", str(func))] += 1
        return func(*args, **(kwargs or {}))


class D(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.c = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.c[str(func)] += 1
        return func(*args, **(kwargs or {}))


class Sub(torch.Tensor):
    calls = Counter()

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls[getattr(func, "__name__", str(func))] += 1
        return super().__torch_function__(func, types, args, kwargs or {})


torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.Adam(net.parameters())
f, d = F(), D()
x = torch.randn(4, 3).as_subclass(Sub)


def step():
    opt.zero_grad()
    loss = (net(x) ** 2).mean()
    loss.backward()
    opt.step()
    return loss


for _ in range(3):
    step()
print(sorted(Sub.calls.items()))
with f:
    for _ in range(3):
        step()
print(sorted(f.c.items()))
with d:
    for _ in range(3):
        loss = step()
print(sorted(d.c.items()))
with f, d:
    try:
        loss.backward()
    except RuntimeError as e:
        print(str(e)[:50])
print(sorted(f.c.items()), sorted(d.c.items()), sorted(Sub.calls.items()))
