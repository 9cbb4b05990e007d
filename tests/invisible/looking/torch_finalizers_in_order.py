import weakref, torch, gc, sys
gc.disable()
log = []
class Act(torch.nn.Module):
    def forward(self, x):
        y = x.tanh(); weakref.finalize(y, log.append, "y"); return y
m = torch.nn.Sequential(torch.nn.Linear(2, 2), Act())
for i in range(10):
    out = m(torch.ones(1, 2))
    loss = out.sum()
    weakref.finalize(loss, log.append, f"loss{i}")
    loss.backward()
    log.append(f"end{i}")
    del out
print(log)
x = torch.ones(2, requires_grad=True)
r = weakref.ref(x); y = x * 2; del x; print(r() is None); del y; print(r() is None)
l = [torch.ones(2, requires_grad=True)]; z = (l[0] * l[0]).sum(); z.backward()
try: z.backward()
except RuntimeError as e: err = e
r = weakref.ref(l[0]); l.clear(); print("held by graph", r() is not None); del z; print(r() is None, err.__traceback__ is not None); del err; print(r() is None)
f = weakref.WeakSet(); f.add(m); d = weakref.WeakKeyDictionary(); d[m] = 1; print(weakref.getweakrefcount(m)); del m; gc.collect(); print(len(f), len(d))
