import functools
import math

import torch

torch.manual_seed(63)


class GaussianProcess:
    def __init__(self, x, y):
        self.x, self.y = x, y
        self.log_length = torch.tensor(0.0, requires_grad=True)
        self.log_noise = torch.tensor(-1.0, requires_grad=True)

    def parameters(self):
        return [self.log_length, self.log_noise]

    @functools.cached_property
    def chol(self):
        gap = (self.x[:, None] - self.x[None]) / self.log_length.exp()
        gram = torch.exp(-0.5 * gap ** 2) + self.log_noise.exp() * torch.eye(len(self.x))
        return torch.linalg.cholesky(gram)

    def nll(self):
        weights = torch.cholesky_solve(self.y[:, None], self.chol).squeeze(1)
        logdet = 2 * self.chol.diagonal().log().sum()
        return 0.5 * (self.y @ weights + logdet + len(self.y) * math.log(2 * math.pi))


def optimise(gp, steps):
    opt = torch.optim.Adam(gp.parameters(), lr=0.1)
    trace = []
    for _ in range(steps):
        opt.zero_grad()
        loss = gp.nll()
        loss.backward()
        opt.step()
        trace.append(round(loss.item(), 3))
    return trace


x = torch.linspace(0, 4, 15)
print(optimise(GaussianProcess(x, torch.sin(2 * x) + 0.1 * torch.randn(15)), 5))
