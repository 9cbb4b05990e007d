"""Saved tensor hooks, save_on_cpu, checkpoint with both ways, selective checkpoint, disabled hooks, packed counts."""
import torch
from torch import nn
from torch.autograd.graph import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(0)
packs = []
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
calls = []
net[1].register_forward_hook(lambda *a: calls.append(torch.is_grad_enabled()))


def pack(t):
    packs.append(("pack", tuple(t.shape)))
    return len(packs), t.detach().clone()


def unpack(p):
    packs.append(("unpack", p[0]))
    return p[1]


x = torch.randn(3, 4, requires_grad=True)
for i in range(3):
    with saved_tensors_hooks(pack, unpack):
        loss = net(x).sum()
    loss.backward()
print(packs)
for reentrant in (False, True):
    y = checkpoint(net, x, use_reentrant=reentrant).sum()
    y.backward()
    print(calls, x.grad.sum().item(), torch.rand(1).item())
with save_on_cpu():
    checkpoint_sequential(net, 2, x, use_reentrant=False).sum().backward()
print(len(calls))
try:
    with disable_saved_tensors_hooks("not here"):
        with saved_tensors_hooks(pack, unpack):
            net(x).sum().backward()
except RuntimeError as e:
    print(e)
packs.clear()
with saved_tensors_hooks(pack, unpack):
    loss = net(x).pow(2).sum()
loss.backward()
try:
    loss.backward()
except RuntimeError as e:
    print(str(e)[:40])
print(packs, [type(s).__name__ for s in [loss.grad_fn]], loss.grad_fn.next_functions[0][0].name())
