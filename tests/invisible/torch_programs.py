"""Programs that look at themselves and train: what `programs` has, with torch."""

from __future__ import annotations

_TRAIN = """
import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
def step(i):
    optimizer.zero_grad()
    loss = net(torch.randn(4, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()
    return loss.item()
"""
_END = "\nprint([step(i) for i in range(12)], torch.rand(2).tolist(), net.weight.tolist())\n"

TORCH = {
    "trains": _TRAIN + _END,
    "function_mode": _TRAIN
    + """
from torch.overrides import TorchFunctionMode
class Count(TorchFunctionMode):
    n = 0
    def __torch_function__(self, func, types, args=(), kwargs=None):
        Count.n += 1
        return func(*args, **(kwargs or {}))
with Count():
    for i in range(10): step(i)
print(Count.n)"""
    + _END,
    "dispatch_mode": _TRAIN
    + """
from torch.utils._python_dispatch import TorchDispatchMode
class Count(TorchDispatchMode):
    names = []
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        Count.names.append(str(func))
        return func(*args, **(kwargs or {}))
with Count():
    for i in range(10): step(i)
print(len(Count.names), Count.names[-5:])"""
    + _END,
    "profiler_counts": _TRAIN
    + """
with torch.profiler.profile() as p:
    for i in range(10): step(i)
print(sorted((e.key, e.count) for e in p.key_averages() if e.key.startswith('aten')))"""
    + _END,
    "saved_tensor_hooks": _TRAIN
    + """
n = [0, 0]
def pack(t):
    n[0] += 1
    return t
def unpack(t):
    n[1] += 1
    return t
with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
    for i in range(10): step(i)
print(n)"""
    + _END,
    "anomaly": _TRAIN + "\nwith torch.autograd.detect_anomaly():\n    print(step(0))" + _END,
    "compile_eager": _TRAIN
    + "\nfast = torch.compile(net, backend='eager')\nprint(fast(torch.ones(1, 3)).shape)"
    + _END,
    "export_strict": "import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        y = x.relu()\n        return (lambda z: z + 1)(y)\n"
    "print(torch.export.export(M(), (torch.ones(1, 2),), strict=True).graph_module.code)",
    "trace_and_script": "import torch\ndef f(x):\n    y = x + 1\n    return y * 2\nprint(torch.jit.trace(f, torch.ones(2)).code)\n@torch.jit.script\ndef g(x):\n    y = x + 1\n    return y\nprint(g.code)",
    "fx": "import torch, torch.fx\nclass M(torch.nn.Module):\n    def forward(self, x):\n        y = x + 1\n        return y.relu()\nprint(torch.fx.symbolic_trace(M()).code)",
    "lazy_proxy": _TRAIN
    + """
class Lazy:
    @property
    def __class__(self):
        print('loaded', torch.rand(1).item())
        return int
    def __getattr__(self, name): print('asked', name); raise AttributeError(name)
lazy = Lazy()"""
    + _END,
    "own_containers": _TRAIN
    + """
class D(dict):
    def items(self): print('items'); return super().items()
    def __iter__(self): print('iter'); return super().__iter__()
class L(list):
    def __iter__(self): print('iter'); return super().__iter__()
d, l = D(a=1), L([1])
class P:
    @property
    def weights(self): print('weights'); return 1
p = P()"""
    + _END,
    "own_optimizer": """
import torch
torch.manual_seed(0)
class Own(torch.optim.SGD):
    def __init__(self, *a, **k):
        self.asked = 0
        super().__init__(*a, **k)
    @property
    def param_groups(self):
        self.__dict__['asked'] = self.__dict__.get('asked', 0) + 1
        return self.__dict__['groups']
    @param_groups.setter
    def param_groups(self, value): self.__dict__['groups'] = value
net = torch.nn.Linear(2, 1)
optimizer = Own(net.parameters(), lr=0.1)
for i in range(12):
    optimizer.zero_grad(); net(torch.ones(1, 2)).sum().backward(); optimizer.step()
print(optimizer.asked, net.weight.tolist())""",
    "caught_and_logged": """
import torch, logging, sys, traceback
logging.basicConfig(stream=sys.stdout)
w = torch.ones(2, requires_grad=True)
y = (w * w).sum()
y.backward()
try:
    y.backward()
except RuntimeError as error:
    logging.exception('skipped')
    print(traceback.format_exc(), getattr(error, '__notes__', None), error.args)""",
    "second_backward": "import torch\nw = torch.ones(2, requires_grad=True)\ny = (w * w).sum()\ny.backward()\ny.backward()",
    "inplace_error": "import torch\nw = torch.ones(2, requires_grad=True)\ny = w.exp()\ny += 1\ny.sum().backward()",
    "error_in_excepthook": "import torch, sys\nsys.excepthook = lambda t, v, tb: print('own', v.__class__.__name__, getattr(v, '__notes__', 0))\n"
    "w = torch.ones(2, requires_grad=True)\ny = (w * w).sum()\ny.backward()\ny.backward()",
    "interrupt_in_training": _TRAIN
    + """
import signal
class Late(Exception): pass
def ring(n, f): raise Late
signal.signal(signal.SIGALRM, ring)
struck = 0
for k in range(6):
    y = w = torch.ones(1, requires_grad=True)
    for _ in range(3000): y = y * w
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        y.backward()
        while True: pass
    except Late as late:
        struck += 1
        assert late.__context__ is None
print(struck)""",
    "threads_train": """
import torch, threading
torch.manual_seed(0)
out = {}
def work(k):
    w = torch.full((2,), float(k), requires_grad=True)
    for i in range(5):
        y = (w * w).sum()
        y.backward()
    out[k] = w.grad.tolist()
ts = [threading.Thread(target=work, args=(k,)) for k in range(8)]
[t.start() for t in ts]; [t.join() for t in ts]
print(sorted(out.items()))""",
    "hooks_and_grads": _TRAIN
    + """
calls = []
net.weight.register_hook(lambda g: calls.append(float(g.sum())))
net.register_full_backward_hook(lambda m, i, o: calls.append(type(m).__name__))
"""
    + _END
    + "print(calls)",
    "custom_function": """
import torch
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * x
w = torch.ones(2, requires_grad=True)
for i in range(12):
    F.apply(w).sum().backward()
print(w.grad)""",
    "weakrefs_die": """
import torch, weakref, gc
w = torch.ones(3, requires_grad=True)
alive = []
for i in range(12):
    y = (w * w).sum()
    alive.append(weakref.ref(y))
    y.backward()
del y
print([r() is None for r in alive])""",
    "plain_between": _TRAIN
    + """
def grid(n):
    x = y = 0
    for k in range(n):
        if k % 2: x += 1
        else: y -= 1
    return x, y
for i in range(10):
    print(step(i), grid(5000))""",
    "default_device": "import torch\ntorch.set_default_device('cpu')\n" + _TRAIN + _END,
    "deterministic": "import torch\ntorch.use_deterministic_algorithms(True)\n" + _TRAIN + _END,
    "dataloader_workers": _TRAIN
    + """
data = torch.utils.data.TensorDataset(torch.arange(12.).view(12, 1))
print([b[0].tolist() for b in torch.utils.data.DataLoader(data, 4, num_workers=1)])"""
    + _END,
}
