"""Lazy modules, meta tensors, fake tensors, parametrizations, spectral norm, weight norm caches, tensordict-like containers with odd protocols."""
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.utils import parametrizations, parametrize

torch.manual_seed(0)


class Odd(dict):
    touched = []

    def __getitem__(self, k):
        Odd.touched.append(k)
        return super().__getitem__(k)

    def values(self):
        Odd.touched.append("values")
        return super().values()

    def __iter__(self):
        Odd.touched.append("iter")
        return super().__iter__()

    def __len__(self):
        Odd.touched.append("len")
        return super().__len__()


class Lazy:
    loaded = 0

    @property
    def __class__(self):
        Lazy.loaded += 1
        return torch.Tensor

    def __getattr__(self, name):
        Lazy.loaded += 1
        raise AttributeError(name)

    def __eq__(self, other):
        Lazy.loaded += 1
        return False

    def __hash__(self):
        Lazy.loaded += 1
        return 1

    def __bool__(self):
        Lazy.loaded += 1
        return True


net = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), parametrizations.spectral_norm(nn.Linear(4, 3)), parametrizations.weight_norm(nn.Linear(3, 1)))
store, proxy = Odd(), Lazy()
net(torch.randn(2, 5))
opt = torch.optim.SGD(net.parameters(), 0.1)
for i in range(15):
    opt.zero_grad()
    store["h"] = net[:2](torch.randn(2, 5))
    store["loss"] = net[2:](dict.__getitem__(store, "h")).mean()
    dict.__getitem__(store, "loss").backward()
    opt.step()
print(Odd.touched, Lazy.loaded)
try:
    dict.__getitem__(store, "loss").backward()
except RuntimeError as e:
    print(str(e)[:40])
print(Odd.touched, Lazy.loaded, dict.__getitem__(store, "loss").item())
with FakeTensorMode() as mode:
    fake = torch.ones(3, requires_grad=True)
    out = (fake * 2).sum()
    out.backward()
    print(fake.grad, len(mode.shape_env.guards) if mode.shape_env else None)
m = torch.ones(2, 2, device="meta", requires_grad=True)
(m @ m).sum().backward()
print(m.grad)
with parametrize.cached():
    net[2:](torch.randn(2, 4)).sum().backward()
print(net[2].parametrizations.weight[0]._u)
