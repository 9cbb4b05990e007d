import math
import torch, torch.nn as nn
class Prompt(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.ctx = nn.Parameter(torch.randn(n, d)) / math.sqrt(d)  # made
    def forward(self, x):
        return x @ self.ctx.t()
m = Prompt(4, 8)
opt = torch.optim.SGD([m.ctx], lr=0.1)  # raises AFT502: m.ctx
m(torch.randn(2, 8)).sum().backward()
opt.step()
