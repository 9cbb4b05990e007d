import torch
from torch import nn

torch.manual_seed(7)


class Norm(nn.Module):
    def __init__(self, d, m=0.1):
        super().__init__()
        self.m = m
        self.scale = nn.Parameter(torch.ones(d))
        self.register_buffer("mean", torch.zeros(d))

    def forward(self, x):
        if self.training:
            self.mean = (1 - self.m) * self.mean + self.m * x.mean(0).detach()
        return (x - self.mean) * self.scale


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin, self.norm = nn.Linear(d, d), Norm(d)

    def forward(self, x):
        return torch.relu(self.norm(self.lin(x)))


class Net(nn.Module):
    def __init__(self, d=5, n=2):
        super().__init__()
        self.blocks = nn.ModuleList(Block(d) for _ in range(n))

    def forward(self, x):
        for b in self.blocks:
            x = x + b(x)
        return x


net = Net()
opt = torch.optim.Adam(net.parameters())
for s in range(3):
    x = torch.randn(6, 5)
    loss = net(x).square().mean()
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
