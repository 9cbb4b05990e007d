import torch
from torch import nn

body, heads = nn.Linear(4, 8), nn.ModuleList(nn.Linear(8, 1) for _ in range(3))
opt = torch.optim.SGD([*body.parameters(), *heads.parameters()], lr=0.1)
for x in torch.randn(3, 16, 4):
    z = torch.tanh(body(x))
    first, second, third = (head(z).pow(2).mean() for head in heads)
    opt.zero_grad()
    first.backward()
    (0.5 * second).backward()
    third.backward()
    opt.step()
