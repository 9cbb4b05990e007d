import torch
from torch import nn

torch.manual_seed(7)


class T:
    def __init__(self):
        self.body, self.head = nn.Linear(4, 6), nn.Linear(6, 1)
        self.opts = {
            "body": torch.optim.SGD(self.body.parameters(), lr=0.01),
            "head": torch.optim.Adam(self.head.parameters()),
        }

    def zero(self, *names):
        for n in names or self.opts:
            self.opts[n].zero_grad()

    def step(self, x):
        self.zero()
        loss = self.head(torch.relu(self.body(x))).pow(2).mean()
        loss.backward()
        for o in self.opts.values():
            o.step()
        return loss.item()


t = T()
print([t.step(torch.randn(5, 4)) for _ in range(6)])
