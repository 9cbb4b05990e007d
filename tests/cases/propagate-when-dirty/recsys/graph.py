import torch
from torch import nn


class LightGraph(nn.Module):
    def __init__(self, users, items, pairs, dim=6, layers=2):
        super().__init__()
        self.users, self.layers = users, layers
        self.start = nn.Parameter(0.1 * torch.randn(users + items, dim))
        adj = torch.zeros(users + items, users + items)
        adj[pairs[:, 0], users + pairs[:, 1]] = 1
        adj = adj + adj.T
        norm = adj.sum(1).clamp(min=1).rsqrt()
        self.register_buffer("adj", norm[:, None] * adj * norm[None])
        self.gain = nn.Parameter(torch.ones(layers))
        self.dirty, self._final = True, None

    def train(self, mode=True):
        self.dirty = True
        return super().train(mode)

    @property
    def final(self):
        if self.dirty:
            out = here = self.start
            for g in self.gain:
                here = g * (self.adj @ here)
                out = out + here
            self._final, self.dirty = out / (self.layers + 1), False
        return self._final

    def bpr(self, user, liked, other):
        u, i, j = (self.final[k] for k in (user, self.users + liked, self.users + other))
        return -torch.nn.functional.logsigmoid((u * (i - j)).sum(-1)).mean()

    @torch.no_grad()
    def best(self, user):
        return int((self.final[self.users:] @ self.final[user]).argmax())
