import torch
from dataclasses import dataclass, field
from torch import nn


@dataclass
class Bank:
    keys: list = field(default_factory=list)

    def put(self, key):
        self.keys.append(key.detach())
        del self.keys[:-3]


torch.manual_seed(0)
net, bank = nn.Linear(4, 4), Bank()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(6, 2, 4):
    query, key = net(x).tanh(), net(x + 0.1).tanh()
    loss = (query - key).pow(2).sum()
    if bank.keys:
        loss = loss - 0.1 * (query @ torch.cat(bank.keys).t()).pow(2).mean()
    bank.put(key)
    opt.zero_grad()
    loss.backward()
    opt.step()
