import torch
from torch import nn

torch.manual_seed(7)


class T:
    RETAIN = False

    def __init__(self):
        self.net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
        self.o = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def back(self, loss, **kw):
        loss.backward(retain_graph=self.RETAIN, **kw)

    def run(self, n):
        for _ in range(n):
            self.o.zero_grad()
            l = self.net(torch.randn(4, 3)).pow(2).mean()
            self.back(l)
            self.o.step()


T().run(5)
