import torch, sys
class Res:
    n = 0
    def __init__(self, name): self.name = name; Res.n += 1
    def __del__(self):
        Res.n -= 1
        print("del", self.name, sys._getframe(1).f_lineno if sys._getframe().f_back else None)
def step(i):
    r = Res(f"s{i}")
    x = torch.ones(2, requires_grad=True)
    (x * x).sum().backward()
    return x.grad
for i in range(9):
    g = step(i)
h = Res("h")
h = Res("h2")
c = Res("cycle"); c.self = c
del c
lst = [Res(str(i)) for i in range(3)]
lst.pop(); lst[0] = None
def boom():
    r = Res("boom"); raise ValueError
try: boom()
except ValueError as e: print("in except", Res.n)
print("after", Res.n)
def gen():
    r = Res("gen")
    try: yield 1; yield 2
    finally: print("closed")
g = gen(); next(g); del g
print(Res.n)
