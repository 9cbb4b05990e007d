import math

import torch
from torch import nn

torch.manual_seed(33)


class StackedGRU(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.cells = nn.ModuleList(nn.GRUCell(a, b) for a, b in zip(sizes, sizes[1:]))
        self.sizes, self.states = sizes, None

    def begin(self, batch):
        self.states = [torch.zeros(batch, n) for n in self.sizes[1:]]

    def cut(self):
        self.states = [s.detach() for s in self.states]

    def forward(self, x):
        new = []
        for cell, h in zip(self.cells, self.states):
            x = cell(x, h)
            new.append(x)
        self.states = new
        return x


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = StackedGRU([1, 12, 12, 8])
        self.read = nn.Linear(8, 1)

    def forward(self, chunk):
        return torch.stack([self.read(self.enc(v)) for v in chunk[:-1]])


wave = torch.tensor([math.sin(k / 3) + math.sin(k / 7) for k in range(120)]).view(30, 4, 1).transpose(0, 1)
chunks = torch.stack(list(wave.transpose(0, 1))).split(10)
net = Forecaster()
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for epoch in range(2):
    net.enc.begin(batch=4)
    for chunk in chunks:
        net.enc.cut()
        loss = (net(chunk) - chunk[1:]).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4))
