import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

torch.manual_seed(0)
names = []


class Log(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        names.append(("F", getattr(func, "__name__", str(func))))
        return func(*args, **(kwargs or {}))


class Dispatch(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        names.append(("D", str(func)))
        return func(*args, **(kwargs or {}))


net = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(net.parameters())
with Log(), Dispatch():
    for _ in range(3):
        loss = net(torch.rand(3, 2)).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
print(len(names))
for name in names:
    print(*name)
