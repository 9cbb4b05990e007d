import torch
import torch.nn as nn

torch.manual_seed(0)


def fixed_point(f, start, steps=8):
    z = start
    for _ in range(steps):
        z = f(z)
    return z


class DEQ(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.w, self.u = nn.Linear(d, d), nn.Linear(d, d)
        with torch.no_grad():
            self.w.weight.mul_(0.3)

    def f(self, z, x):
        return torch.tanh(self.w(z) + self.u(x))

    def forward(self, x):
        with torch.no_grad():
            z = fixed_point(lambda z: self.f(z, x), torch.zeros_like(x))
        new_z = self.f(z, x)
        if self.training:
            z0 = z.clone().detach().requires_grad_()
            f0 = self.f(z0, x)

            def backward_hook(grad):
                return fixed_point(lambda y: torch.autograd.grad(f0, z0, y)[0] + grad, grad)

            new_z.register_hook(backward_hook)
        return new_z


model = nn.Sequential(DEQ(), nn.Linear(6, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    x, y = torch.randn(12, 6), torch.randint(0, 2, (12,))
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, round(loss.item(), 4))
