"""Print options, repr of many objects, default dtype and device, number formats after looks; numpy and locale settings."""
import locale

import numpy as np
import torch
from torch import nn

torch.set_printoptions(precision=2, sci_mode=True, threshold=5)
np.set_printoptions(precision=1)
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
with torch.device("cpu"):
    net = nn.Linear(3, 2)
x = torch.randn(10, 3)
for i in range(10):
    y = net(x)
    y.sum().backward()
    print(y[0], y.grad_fn.name(), net.weight.grad[0])
print(torch._tensor_str.PRINT_OPTS.__dict__, np.get_printoptions()["precision"], torch.get_default_dtype(), locale.setlocale(locale.LC_ALL), torch.get_default_device())
z = net(x).sum()
z.backward()
try:
    net(x).pow(2).sum().backward(gradient=torch.ones(3))
except RuntimeError as e:
    print(e)
print(x, net.weight, z, [p for p in net.parameters()], torch.is_deterministic_algorithms_warn_only_enabled())
print(f"{z.item():.3f} {z:.2e}", torch.utils.cpp_extension.__name__ if hasattr(torch.utils, "cpp_extension") else "no ext", torch.version.__version__ == torch.__version__)
