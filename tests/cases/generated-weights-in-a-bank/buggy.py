import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)


class Hyper(nn.Module):
    def __init__(self):
        super().__init__()
        self.task = nn.Embedding(3, 4)
        self.gen = nn.Linear(4, 3 * 2 + 2)

    def weights(self, t):
        w = self.gen(self.task(torch.tensor(t)))
        return w[:6].view(2, 3), w[6:]


class Bank:
    def __init__(self, hyper):
        self.h, self.made = hyper, {}

    def __getitem__(self, t):
        if t not in self.made:
            self.made[t] = self.h.weights(t)
        return self.made[t]


h = Hyper()
bank = Bank(h)
opt = torch.optim.Adam(h.parameters())
for step in range(4):
    W, b = bank[step % 2]
    loss = F.linear(torch.randn(5, 3), W, b).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
