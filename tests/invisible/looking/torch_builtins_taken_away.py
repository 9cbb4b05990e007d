import torch
import builtins
# a program that uses names as it likes
id = 5; type = "t"; list = [1]; sum = 3; print_ = print; len = 9; hash = dir = vars = isinstance = sorted = None
sys = "not sys"; afterward = "mine"; marks = tape = _ = __ = 7; np = None
class object_(builtins.object): pass
x = torch.ones(3, requires_grad=True)
for step in builtins.range(20):
    loss = (x * step).sum()
    loss.backward()
def outer():
    loss = 1
    def inner():
        nonlocal loss
        loss += 1
        return loss
    return inner()
print(outer(), x.grad, afterward, sys, marks)
builtins.id = lambda o: 0
builtins.len = lambda o: 42
y = (x * x).sum(); y.backward()
try: y.backward()
except RuntimeError as e: print("caught", str(e)[:10])
del builtins.id
print(builtins.sorted(k for k in globals() if not k.startswith("__"))[:12])
print(len)
