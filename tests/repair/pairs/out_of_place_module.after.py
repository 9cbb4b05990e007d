import torch
from torch import nn


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid())
        self.post = nn.Sequential(
            nn.ReLU(),  # saves memory
            nn.Linear(4, 1),
        )

    def forward(self, x):
        gate = self.gate(x)
        return self.post(gate)


net = Gated()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 5, 4):
    opt.zero_grad()
    net(x).pow(2).mean().backward()
    opt.step()
