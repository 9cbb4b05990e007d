import functools

import torch
from torch import nn

torch.manual_seed(58)


class Positions(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.scale = nn.Parameter(torch.ones(()))

    def table(self, length):
        at = torch.arange(length)[:, None] / 10 ** torch.linspace(0, 2, self.dim // 2)
        return self.scale * torch.cat([at.sin(), at.cos()], -1)


class Tagger(nn.Module):
    def __init__(self, dim=8, tags=3):
        super().__init__()
        self.words, self.positions = nn.Embedding(20, dim), Positions(dim)
        self.mix = nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, tags)

    def forward(self, ids):
        return self.out(self.mix(self.words(ids) + self.positions.table(ids.size(1))))


net = Tagger()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step, length in enumerate([5, 6, 9, 6, 5]):
    ids = torch.randint(0, 20, (4, length))
    loss = nn.functional.cross_entropy(net(ids).flatten(0, 1), (ids % 3).flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, length, round(loss.item(), 4))
