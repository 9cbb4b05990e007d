import torch
from torch import nn

torch.manual_seed(29)


class EvolvingConv(nn.Module):
    """A graph convolution whose weight is moved on by a GRU cell at each snapshot."""

    def __init__(self, dim):
        super().__init__()
        self.start = nn.Parameter(torch.randn(dim, dim) / dim ** 0.5)
        self.evolve = nn.GRUCell(dim, dim)
        self.W = None

    def reset(self):
        self.W = None

    def forward(self, adj, x):
        weight = self.start if self.W is None else self.W
        self.W = self.evolve(weight, weight)
        return torch.relu(adj @ x @ self.W)


class LinkModel(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.conv, self.score = EvolvingConv(dim), nn.Bilinear(dim, dim, 1)

    def forward(self, snap):
        h = self.conv(snap["adj"], snap["x"])
        src, dst = snap["edges"]
        return self.score(h[src], h[dst]).squeeze(-1)


def snapshots(n_nodes=9, count=4):
    for _ in range(count):
        adj = (torch.rand(n_nodes, n_nodes) < 0.3).float() + torch.eye(n_nodes)
        yield {"adj": adj / adj.sum(1, keepdim=True), "x": torch.randn(n_nodes, 6),
               "edges": torch.randint(0, n_nodes, (2, 14)), "y": torch.rand(14).round()}


model = LinkModel()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(2):
    model.conv.reset()
    for t, snap in enumerate(snapshots()):
        loss = nn.functional.binary_cross_entropy_with_logits(model(snap), snap["y"])
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(epoch, t, round(loss.item(), 4))
