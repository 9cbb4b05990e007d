import torch
from torch import nn
class Trainer:
    def __init__(self):
        self.net = nn.Linear(4, 1)
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cpu")
    def grad_norm(self):
        self.scaler.unscale_(self.opt)
        return nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
    def step(self, x, y):
        self.scaler.scale((self.net(x) - y).pow(2).mean()).backward()
        norm = self.grad_norm()
        self.scaler.unscale_(self.opt)  # raises AFT515: self.opt
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad()
        return norm
t = Trainer()
for _ in range(4):
    t.step(torch.randn(8, 4), torch.randn(8, 1))
