import torch
from torch import nn

torch.manual_seed(11)


class Gated(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.gate = nn.Sequential(nn.Linear(d, d), nn.Sigmoid())
        self.post = nn.Sequential(nn.ReLU(), nn.Linear(d, d))

    def forward(self, x):
        g = self.gate(x)
        h = self.post(g)
        return x * h


class Net(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.blocks = nn.ModuleList([Gated(d), Gated(d)])
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.out(x)


net = Net()
opt = torch.optim.Adam(net.parameters())
for i in range(3):
    x = torch.randn(5, 6)
    loss = net(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(i)
