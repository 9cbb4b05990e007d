import gc
import weakref

import torch

torch.manual_seed(0)
net = torch.nn.Linear(3, 3)
alive = []
for i in range(10):
    x = torch.rand(2, 3)
    y = net(x)
    alive.append(weakref.ref(y))
    y.sum().backward()
    print(i, sum(r() is not None for r in alive), end=" ")
    del x, y
    print(sum(r() is not None for r in alive))
try:
    z = net(torch.rand(2, 3)).exp()
    ref = weakref.ref(z)
    z.sum().backward()
    z.sum().backward()
    z.sum().backward()
except RuntimeError:
    pass
del z
print(ref() is None, sum(isinstance(o, torch.Tensor) for o in gc.get_objects()))
