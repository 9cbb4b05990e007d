import torch
from torch import nn

gen, dis = nn.Linear(3, 4), nn.Linear(4, 1)
opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
opt_d = torch.optim.SGD(dis.parameters(), lr=0.1)
for real in torch.randn(3, 8, 4):
    fake = torch.tanh(gen(torch.randn(8, 3)))
    loss_d = dis(fake).sigmoid().mean() - dis(real).sigmoid().mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    loss_g = -dis(fake).sigmoid().mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
