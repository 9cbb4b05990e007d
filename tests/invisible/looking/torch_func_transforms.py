"""vmap, grad, jacrev, jvp, functional_call, linearize; their interpreter levels and errors."""
import torch
from torch import nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
params = {k: v.detach() for k, v in net.named_parameters()}


def loss(p, x, y):
    return ((functional_call(net, p, (x,)) - y) ** 2).mean()


x, y = torch.randn(6, 3), torch.randn(6, 1)
per = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
print({k: (tuple(v.shape), v.sum().item()) for k, v in per.items()})
for _ in range(5):
    g, value = grad_and_value(loss)(params, x, y)
    params = {k: params[k] - 0.1 * g[k] for k in params}
print(value.item(), jacrev(lambda z: z.sin() * z.sum())(x[0]).sum().item(), hessian(lambda z: (z ** 3).sum())(x[0]).diag())
out, push = vjp(lambda z: z ** 2, x[0])
print(push(torch.ones(3))[0], jvp(torch.exp, (x[0],), (torch.ones(3),))[1], jacfwd(torch.tanh)(x[0]).trace())
print(vmap(lambda a: torch.randn(2) + a, randomness="different")(torch.zeros(3)))
try:
    vmap(lambda a: a.item())(torch.zeros(3))
except RuntimeError as e:
    print(str(e)[:80])
z = torch.ones(3, requires_grad=True)
inner = []
def record(q):
    inner.append(torch._C._functorch.maybe_get_level(q) if hasattr(torch._C._functorch, "maybe_get_level") else None)
    return (q * z).sum()
print(grad(record)(torch.ones(3)), inner)
(torch.stack([grad(record)(torch.ones(3)) for _ in range(3)]).sum()).backward()
print(z.grad)
