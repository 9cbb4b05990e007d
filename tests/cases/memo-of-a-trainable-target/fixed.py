import torch
from torch import nn

torch.manual_seed(207)
C = nn.Parameter(torch.tensor(1.0))


def memoized(func):
    """The same array of points gives the same values: they are computed once."""
    def wrapper(x):
        return func(x)

    return wrapper


class IC:
    def __init__(self, func):
        self.func = memoized(func)

    def error(self, x, outputs):
        return (outputs - self.func(x)).pow(2).mean()


class Model:
    def __init__(self, net, ic):
        self.net, self.ic = net, ic
        self.opt = torch.optim.Adam([*net.parameters(), C], lr=5e-3)
        self.points = torch.linspace(0, 1, 12).unsqueeze(1)
        self.start = torch.cat([self.points, torch.zeros_like(self.points)], 1)

    def losses(self, inner):
        inner.requires_grad_(True)
        u = self.net(inner)
        du = torch.autograd.grad(u.sum(), inner, create_graph=True)[0]
        return [(du[:, 1:] + 0.5 * u).pow(2).mean(), self.ic.error(self.start[:, :1], self.net(self.start))]

    def train_step(self, inner):
        def closure():
            self.opt.zero_grad()
            total_loss = torch.stack(self.losses(inner)).sum()
            total_loss.backward()
            return total_loss

        return self.opt.step(closure).item()


net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
model = Model(net, IC(lambda x: torch.sin(C * 3.0 * x)))
for it in range(4):
    print(it, f"{model.train_step(torch.rand(10, 2)):.6f}", f"{C.item():.5f}")
