import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map
class Count(TorchDispatchMode):
    def __init__(self): super().__init__(); self.ops = []
    def __torch_dispatch__(self, f, types, args=(), kwargs=None):
        self.ops.append(str(f)); return f(*args, **(kwargs or {}))
m = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.GELU(), torch.nn.Linear(3, 1)); o = torch.optim.Adam(m.parameters())
with Count() as c:
    for i in range(9):
        o.zero_grad(); loss = m(torch.ones(2, 2)).mean(); loss.backward(); o.step()
    n = len(c.ops)
    try: loss.backward()
    except RuntimeError: print("caught", len(c.ops) - n)
print(len(c.ops), c.ops[:30])
from torch.utils.flop_counter import FlopCounterMode
with FlopCounterMode(display=False) as f:
    m(torch.ones(2, 2)).mean().backward()
print(f.get_total_flops(), {k: dict((str(a), b) for a, b in v.items()) for k, v in f.get_flop_counts().items()})
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode() as fm:
    a = torch.nn.Linear(5, 5); y = a(torch.empty(1, 5)).sum(); y.backward(); print(type(a.weight.grad).__name__)
