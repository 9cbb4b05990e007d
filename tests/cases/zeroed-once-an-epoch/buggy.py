import torch
from torch import nn

torch.manual_seed(7)


class Fit:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
        self.opt = torch.optim.Adam(self.net.parameters(), 1e-2)
        self.sched = torch.optim.lr_scheduler.StepLR(self.opt, 2)

    def epoch(self, batches):
        self.opt.zero_grad()
        total = 0.0
        for x in batches:
            loss = self.net(x).pow(2).mean()
            loss.backward()
            self.opt.step()
            total += loss.item()
        self.sched.step()
        return total / len(batches)


f = Fit()
for _ in range(3):
    print(f.epoch(torch.randn(5, 4, 2)))
