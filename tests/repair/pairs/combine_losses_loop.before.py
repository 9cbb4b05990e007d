import torch
from torch import nn

body, heads = nn.Linear(4, 8), nn.ModuleDict({"a": nn.Linear(8, 1), "b": nn.Linear(8, 2)})
opt = torch.optim.SGD([*body.parameters(), *heads.parameters()], lr=0.1)
for x in torch.randn(3, 16, 4):
    z = torch.relu(body(x))
    losses = {name: head(z).pow(2).mean() for name, head in heads.items()}
    opt.zero_grad()
    for name, loss in losses.items():
        loss.backward()
    opt.step()
