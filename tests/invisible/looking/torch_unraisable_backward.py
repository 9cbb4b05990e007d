import sys, torch, gc
sys.unraisablehook = lambda a: print("UNRAISABLE", a.exc_type.__name__, str(a.exc_value)[:40], a.err_msg, getattr(a.object, "__qualname__", type(a.object).__name__))
class D:
    def __init__(self):
        self.x = torch.ones(1, requires_grad=True); self.y = self.x.exp(); self.y.backward()
    def __del__(self): self.y.backward()
d = D(); del d
for i in range(6):
    D()
class C:
    def __del__(self): raise ValueError("c")
c = C(); c.me = c; del c; print("collected", gc.collect() > 0)
import weakref
o = D.__new__(D); o.y = torch.ones(1, requires_grad=True).sum()
r = weakref.ref(o, lambda _: 1 / 0); del o
print("end")
