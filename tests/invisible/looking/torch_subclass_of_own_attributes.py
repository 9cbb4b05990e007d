import torch
log = []
class T(torch.Tensor):
    @classmethod
    def __torch_function__(cls, f, types, args=(), kwargs=None):
        log.append(getattr(f, "__name__", str(f)))
        return super().__torch_function__(f, types, args, kwargs or {})
    @property
    def shape(self): log.append("SHAPE"); return super().shape
    def __repr__(self): log.append("REPR"); return "T"
    def __len__(self): log.append("LEN"); return 2
    def __bool__(self): log.append("BOOL"); return True
    def __eq__(self, o): log.append("EQ"); return NotImplemented
    def __hash__(self): log.append("HASH"); return 3
    def __getattr__(self, n): log.append("GA " + n); raise AttributeError(n)
a = torch.nn.Parameter(torch.ones(2)); w = torch.ones(2).as_subclass(T).requires_grad_()
opt = torch.optim.SGD([a], lr=.1)
keep = []
for i in range(10):
    y = (w * a).sum(); keep.append(y); y.backward(); opt.step(); opt.zero_grad(); log.append("-")
try: y.backward()
except RuntimeError: log.append("caught")
print(len(log)); print(log[:30]); print(log[-20:])
from torch.utils._python_dispatch import return_and_correct_aliasing
class Two(torch.Tensor):
    @staticmethod
    def __new__(cls, a): return torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype, requires_grad=a.requires_grad)
    def __init__(self, a): self.a = a
    @classmethod
    def __torch_dispatch__(cls, f, types, args=(), kwargs=None):
        log2.append(str(f)); un = lambda t: t.a if isinstance(t, Two) else t
        out = f(*[un(t) for t in args], **{k: un(v) for k, v in (kwargs or {}).items()})
        return Two(out) if isinstance(out, torch.Tensor) else out
log2 = []
p = Two(torch.ones(3)).requires_grad_()
for i in range(9): (p * 2).sum().backward(); log2.append("-")
print(len(log2), log2[:20], log2[-12:])
