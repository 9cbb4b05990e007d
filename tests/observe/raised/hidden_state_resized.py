import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        out = self.body(x)
        out.resize_(2, 2)  # raises AFT514: out
        return out


net = Net()
net(torch.ones(1, 4)).sum().backward()
