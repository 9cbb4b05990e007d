"""Two optimizers step, each for the other's loss."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2))
judge = nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 1))
opt_g = torch.optim.Adam(generator.parameters(), lr=0.01)
opt_d = torch.optim.Adam(judge.parameters(), lr=0.01)
for step in range(6):
    fake = generator(torch.randn(8, 3))
    opt_d.zero_grad()
    loss_d = judge(fake).mean() - judge(torch.randn(8, 2) + 1).mean()
    loss_d.backward(retain_graph=True)
    opt_g.step()
    opt_g.zero_grad()
    loss_g = -judge(fake).mean()
    loss_g.backward()
    opt_d.step()
