import torch, collections
n = collections.Counter()
class Meta(type):
    def __eq__(cls, other): n["eq"] += 1; return cls is other
    def __hash__(cls): n["hash"] += 1; return 7
    def __getattribute__(cls, k): n["get " + k] += 1; return super().__getattribute__(k)
    def __instancecheck__(cls, o): n["inst"] += 1; return True
    def __subclasscheck__(cls, o): n["sub"] += 1; return True
class Thing(metaclass=Meta):
    def __init__(self): self.v = None
thing = Thing(); things = [Thing() for _ in range(3)]
n.clear()
w = torch.ones(2, requires_grad=True)
for i in range(20):
    thing.v = (w * w).sum(); thing.v.backward()
print(sorted(n.items()))
things[0].v = (w * w).sum(); things[0].v.backward()
try: things[0].v.backward()
except RuntimeError: print("caught")
print(sorted(n.items()))
