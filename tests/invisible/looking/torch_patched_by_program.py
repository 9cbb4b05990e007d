"""The program itself replaces backward, the engine entry, Optimizer.step, print and builtins.isinstance; what is called how often."""
import builtins
import time

import torch
import torch.autograd

torch.manual_seed(0)
calls = []
real = torch.Tensor.backward
torch.Tensor.backward = lambda self, *a, **k: (calls.append("T.backward"), real(self, *a, **k))[1]
inner = torch.autograd.backward
torch.autograd.backward = lambda *a, **k: (calls.append("a.backward"), inner(*a, **k))[1]
real_step = torch.optim.SGD.step
torch.optim.SGD.step = lambda self, *a: (calls.append("step"), real_step(self, *a))[1]
real_isinstance = builtins.isinstance
n = [0]


def counting(a, b):
    n[0] += 1
    return real_isinstance(a, b)


w = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([w], 0.1)


def go():
    opt.zero_grad()
    (w * w).sum().backward()
    opt.step()


go()
builtins.isinstance = counting
go()
go()
builtins.isinstance = real_isinstance
print(n[0] > 0, calls, w)
real_time = time.time
time.time = time.monotonic = time.perf_counter = lambda: 1 / 0
for _ in range(5):
    go()
print(len(calls), torch.autograd.graph._engine_run_backward.__name__, torch.autograd.graph._engine_run_backward.__module__)
print(len(calls))
raise RuntimeError("end")
