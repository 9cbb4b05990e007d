import torch
from torch import nn

table = nn.Embedding(5, 4, max_norm=1.0)
mix = nn.Linear(4, 4, bias=False)
opt = torch.optim.SGD([*table.parameters(), *mix.parameters()], lr=0.1)
for x in torch.randint(0, 5, (3, 6)):
    scores = mix(table.weight)
    loss = (table(x) @ scores.t()).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
