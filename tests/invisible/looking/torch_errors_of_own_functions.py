import torch, sys, traceback
class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x): ctx.save_for_backward(x); return x.clone()
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        if x.sum() > 2: raise MemoryError("mine")
        return g * x
for scale in (1., 2.):
    a = torch.full((2,), scale, requires_grad=True)
    try:
        y = Once.apply(a).sum(); y.backward(); print(a.grad); y.backward()
    except BaseException as e:
        print(type(e), e.args and str(e.args[0])[:50], list(vars(e)), [t.name for t in traceback.extract_tb(e.__traceback__)], e.__suppress_context__)
b = torch.ones(2, requires_grad=True); c = b.exp(); c += 1
try: c.sum().backward()
except RuntimeError as e: print(str(e)[:90])
try: torch.ones(2).sum().backward()
except RuntimeError as e: print(str(e)); err = e
try: torch.ones(2, requires_grad=True).backward()
except RuntimeError as e: print(str(e)); 
try: raise RuntimeError("Trying to backward through the graph a second time (fake)")
except RuntimeError as e: print(e, vars(e), repr(e))
with torch.autograd.detect_anomaly():
    c = b.exp(); s = (c * c).sum(); s.backward()
    try: s.backward()
    except RuntimeError as e: print("anomaly", len(str(e)) > 10)
d = b * 2; d.register_hook(lambda g: 1 / 0)
try: d.sum().backward()
except ZeroDivisionError as e: print([t.name for t in traceback.extract_tb(e.__traceback__)])
raise err from ValueError("why")
