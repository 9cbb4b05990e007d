import torch, torch.nn as nn

class MultiTask:
    def __init__(self):
        self.net = nn.Linear(3, 2)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)

    def step(self, x):
        out = self.net(x)
        total = 0.0
        for i in range(2):
            total += out[:, i].pow(2).mean().item()  # made
        self.opt.zero_grad()
        total.backward()  # raises AFT401: total
        self.opt.step()

MultiTask().step(torch.randn(4, 3))
