import torch
from torch import nn
from torch.nn.utils import parametrize

torch.manual_seed(10)


class Skew(nn.Module):
    def forward(self, w):
        upper = w.triu(1)
        return torch.matrix_exp(upper - upper.T)


class RotationNet(nn.Module):
    def __init__(self, n=5):
        super().__init__()
        self.mix = nn.Linear(n, n, bias=False)
        self.gain = nn.Parameter(torch.ones(n))
        parametrize.register_parametrization(self.mix, "weight", Skew())

    def forward(self, x, depth=3):
        for _ in range(depth):
            x = self.mix(x) * self.gain
        return x


def fit(net, pairs):
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for x, y in pairs:
        with parametrize.cached():
            loss = (net(x) - y).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


spin = torch.linalg.qr(torch.randn(5, 5)).Q
pairs = [(x, x @ spin) for x in torch.randn(6, 20, 5)]
print("left over", round(fit(RotationNet(), pairs), 4))
