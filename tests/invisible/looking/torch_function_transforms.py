import torch
from torch.func import functional_call, grad, jacrev, vmap

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
params = {k: v.detach() for k, v in net.named_parameters()}


def loss(params, x):
    y = functional_call(net, params, (x,))
    return y.pow(2).sum()


for _ in range(12):
    x = torch.rand(4, 3)
    per_sample = vmap(grad(loss), (None, 0))(params, x)
    params = {k: v - 0.01 * per_sample[k].mean(0) for k, v in params.items()}
print({k: v.tolist() for k, v in params.items()}, jacrev(lambda w: (w**2).sum())(torch.ones(2)).tolist())
w = torch.ones(2, requires_grad=True)
g = torch.autograd.grad((w**3).sum(), w, create_graph=True)[0]
g.sum().backward()
print(w.grad.tolist(), torch.autograd.functional.hessian(lambda v: (v**3).sum(), torch.ones(2)).tolist())
print(torch.autograd.gradcheck(torch.sin, torch.ones(2, dtype=torch.double, requires_grad=True)))
