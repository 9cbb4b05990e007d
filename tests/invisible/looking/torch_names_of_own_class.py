import torch
n = []
class S(str):
    def __hash__(self): n.append("h"); return str.__hash__(self)
    def __eq__(self, o): n.append("e"); return str.__eq__(self, o)
    def __str__(self): n.append("s"); return "S"
    def startswith(self, *a): n.append("sw"); return False
d = {S("a"): torch.ones(1)}; o = type("O", (), {})(); o.__dict__[S("attr")] = 1
globals()[S("gname")] = [torch.ones(1, requires_grad=True)]
n.clear()
w = torch.ones(1, requires_grad=True)
for i in range(10): l = (w * w).sum(); l.backward()
try: l.backward()
except RuntimeError: pass
print(n)
