import torch
from torch import nn
from dataclasses import dataclass, field


@dataclass
class Memory:
    slots: list = field(default_factory=lambda: [torch.zeros(2, 5) for _ in range(3)])
    writes: int = 0


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.Linear(5, 5)
        self.gate = nn.Linear(5, 5)
        self.mem = Memory()

    def forward(self, x):
        old = self.mem.slots[0]
        new = torch.tanh(self.read(x) + self.gate(old))
        self.mem.slots.append(new)
        self.mem.slots.pop(0)
        self.mem.writes += 1
        return torch.stack(self.mem.slots).mean(0)


def train(steps=10):
    torch.manual_seed(1)
    net = Writer()
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    for i in range(steps):
        x = torch.randn(2, 5)
        y = net(x)
        loss = (y - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


train()
