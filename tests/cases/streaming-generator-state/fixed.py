import torch
from torch import nn

torch.manual_seed(19)


class Smoother(nn.Module):
    """Learned exponential smoothing, used as a coroutine: send a batch, get a forecast."""

    def __init__(self, n):
        super().__init__()
        self.alpha, self.beta = nn.Parameter(torch.zeros(n)), nn.Parameter(torch.full((n,), -1.0))

    def run(self, first):
        level, trend = first, torch.zeros_like(first)
        obs = yield level
        while True:
            level, trend = level.detach(), trend.detach()
            a, b = torch.sigmoid(self.alpha), torch.sigmoid(self.beta)
            before = level
            level = a * obs + (1 - a) * (level + trend)
            trend = b * (level - before) + (1 - b) * trend
            obs = yield level + trend


def series(n, length):
    x = torch.zeros(n)
    for k in range(length):
        x = 0.95 * x + 0.1 * k + 0.2 * torch.randn(n)
        yield x


model = Smoother(5)
opt = torch.optim.Adam(model.parameters(), lr=0.03)
data = list(series(5, 12))
smooth = model.run(data[0])
forecast = next(smooth)
errors = []
for now, nxt in zip(data, data[1:]):
    forecast = smooth.send(now)
    loss = (forecast - nxt).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    errors.append(loss.item())
print("mean error", round(sum(errors) / len(errors), 4))
