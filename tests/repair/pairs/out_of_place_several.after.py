import torch
import torch.nn.functional as F

torch.manual_seed(0)
params = [torch.randn(4, 3, requires_grad=True), torch.randn(1, 4, requires_grad=True)]
meta = torch.optim.SGD(params, lr=0.1)


def predict(x, weights):
    return F.linear(torch.tanh(F.linear(x, weights[0])), weights[1])


for task in range(3):
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    fast = [p.clone() for p in params]
    for k in range(2):
        inner = (predict(x, fast) - y).pow(2).mean()
        grads = torch.autograd.grad(inner, fast, create_graph=True)
        fast = [w.sub(0.1 * g) for w, g in zip(fast, grads)]
    outer = (predict(x, fast) - y).pow(2).mean()
    meta.zero_grad()
    outer.backward()
    meta.step()
