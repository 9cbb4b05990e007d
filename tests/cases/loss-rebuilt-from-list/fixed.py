import statistics

import torch
from torch import nn

torch.manual_seed(41)


class Pyramid(nn.Module):
    def __init__(self, scales=3):
        super().__init__()
        self.levels = nn.ModuleList(nn.Conv1d(1, 1, 5, padding=2) for _ in range(scales))

    def forward(self, x):
        for level in self.levels:
            yield level(x)
            x = nn.functional.avg_pool1d(x, 2)


def pooled(y, like):
    while y.size(-1) > like.size(-1):
        y = nn.functional.avg_pool1d(y, 2)
    return y


def robust_total(net, x, y, trim=0.9):
    per_scale = [(out - pooled(y, out)).abs().mean() for out in net(x)]
    middle = statistics.median(v.item() for v in per_scale)
    return sum(v.clamp(max=middle / trim) for v in per_scale)


net = Pyramid()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(3):
    x = torch.randn(4, 1, 32)
    loss = robust_total(net, x, x.roll(1, -1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, round(loss.item(), 4))
