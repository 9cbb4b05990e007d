"""torch.save of whole modules and lambdas, load with weights_only, safe globals, deepcopy, state hooks, share_memory, pickled size."""
import copy
import io
import os

import torch
from torch import nn


class Mine(nn.Module):
    def __init__(self, act=torch.relu):
        super().__init__()
        self.l, self.act = nn.Linear(2, 2), act
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        self.seen += 1
        return self.act(self.l(x))


torch.manual_seed(0)
m = Mine()
m(torch.ones(1, 2)).sum().backward()
buf = io.BytesIO()
torch.save(m, buf)
print(len(buf.getvalue()))
buf.seek(0)
try:
    torch.load(buf)
except Exception as e:
    print(type(e).__name__, str(e)[:80])
buf.seek(0)
n = torch.load(buf, weights_only=False)
print(type(n) is Mine, torch.equal(n.l.weight, m.l.weight), n.l.weight.grad is None, sorted(n.__dict__))
c = copy.deepcopy(m)
print(c.l.weight.grad is not None, c.l.weight.grad is not m.l.weight.grad)
try:
    torch.save(Mine(lambda x: x * 2), io.BytesIO())
except Exception as e:
    print(type(e).__name__, str(e)[:60])
h = m(torch.ones(1, 2))
try:
    copy.deepcopy(h)
except RuntimeError as e:
    print(str(e)[:60])
m.share_memory()
pid = os.fork()
if pid == 0:
    with torch.no_grad():
        m.l.weight.fill_(7)
    os._exit(0)
os.waitpid(pid, 0)
print(m.l.weight[0, 0].item(), m.seen)
print(m, repr(h), m.l.weight)
