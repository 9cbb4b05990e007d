"""Parameters behind properties, modules with __getattr__, __setattr__ and slots, optimizers with property groups: each access counted."""
import torch
from torch import nn

torch.manual_seed(0)


class Counting(nn.Module):
    n = {}

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2, 2))

    def __getattr__(self, name):
        Counting.n[name] = Counting.n.get(name, 0) + 1
        return super().__getattr__(name)

    def __setattr__(self, name, value):
        Counting.n["set " + name] = Counting.n.get("set " + name, 0) + 1
        super().__setattr__(name, value)

    @property
    def weight(self):
        Counting.n["prop"] = Counting.n.get("prop", 0) + 1
        return self.w * 2

    def named_parameters(self, *a, **k):
        Counting.n["named"] = Counting.n.get("named", 0) + 1
        return super().named_parameters(*a, **k)

    def forward(self, x):
        return x @ self.weight

    def __repr__(self):
        Counting.n["repr"] = 1
        return "C"


class Opt(torch.optim.SGD):
    asked = 0

    @property
    def param_groups(self):
        Opt.asked += 1
        return self.__dict__["groups"]

    @param_groups.setter
    def param_groups(self, value):
        self.__dict__["groups"] = value


class Slots:
    __slots__ = ("loss", "seen")
    gets = 0

    def __getattribute__(self, name):
        type(self).gets += 1
        return object.__getattribute__(self, name)


net, box = Counting(), Slots()
opt = Opt(net.parameters(), 0.1)
for i in range(20):
    opt.zero_grad()
    box.loss = net(torch.randn(3, 2)).pow(2).sum()
    object.__getattribute__(box, "loss").backward()
    opt.step()
print(Counting.n, Opt.asked, Slots.gets)
try:
    object.__getattribute__(box, "loss").backward()
except RuntimeError:
    pass
print(Counting.n, Opt.asked, Slots.gets)
