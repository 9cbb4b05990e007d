import torch
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, dim, batch, longest):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(dim, dim) for _ in range(3))
        self.shape = (batch, longest, dim)
        self.keys, self.values, self.pos = torch.zeros(self.shape), torch.zeros(self.shape), 0

    def start(self):
        self.pos = 0
        self.keys, self.values = torch.zeros(self.shape), torch.zeros(self.shape)

    def forward(self, x):
        self.keys[:, self.pos] = self.k(x)
        self.values[:, self.pos] = self.v(x)
        self.pos += 1
        keys, values = self.keys[:, :self.pos].clone(), self.values[:, :self.pos].clone()
        score = torch.einsum("bd,bld->bl", self.q(x), keys) / keys.size(-1) ** 0.5
        return torch.einsum("bl,bld->bd", score.softmax(-1), values)
