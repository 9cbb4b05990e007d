import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(13)


class Wave(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(1, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


def adapt(net, params, x, y, lr, steps):
    for _ in range(steps):
        loss = (functional_call(net, params, (x,)) - y).square().mean()
        grads = torch.autograd.grad(loss, list(params.values()), create_graph=True)
        params = {k: p - lr * g for (k, p), g in zip(params.items(), grads)}
    return params


def task():
    amplitude, phase = 0.5 + torch.rand(1), 3 * torch.rand(1)

    def draw(n):
        x = 4 * torch.rand(n, 1) - 2
        return x, amplitude * torch.sin(x + phase)

    return draw


net = Wave()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for it in range(4):
    outer = []
    for draw in (task() for _ in range(3)):
        fast = adapt(net, dict(net.named_parameters()), *draw(8), lr=0.05, steps=2)
        x, y = draw(8)
        outer.append((functional_call(net, fast, (x,)) - y).square().mean())
    opt.zero_grad()
    torch.stack(outer).mean().backward()
    opt.step()
print("meta loss", round(float(torch.stack(outer).mean()), 4))
