# needs: torch_geometric
# light
# unproven
# finds: AFT107 conv._cached recompute_forward
import torch
from torch import nn
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import add_self_loops, degree


class SGCLike(MessagePassing):
    def __init__(self, i, o, K=2, cached=True):
        super().__init__(aggr="add")
        self.lin, self.K, self.cached, self._cached = nn.Linear(i, o), K, cached, None

    def forward(self, x, edge_index):
        if self._cached is None or not self.cached:  # right: if True:
            edge_index, _ = add_self_loops(edge_index)
            deg = degree(edge_index[1], x.size(0)).clamp(min=1)
            norm = deg.rsqrt()[edge_index[0]] * deg.rsqrt()[edge_index[1]]
            h = self.lin(x)
            for _ in range(self.K):
                h = self.propagate(edge_index, x=h, norm=norm)  # built
            self._cached = h
        return self._cached

    def message(self, x_j, norm):
        return norm.view(-1, 1) * x_j


torch.manual_seed(0)
x, edge_index, y = torch.randn(20, 8), torch.randint(0, 20, (2, 60)), torch.randint(0, 3, (20,))
conv = SGCLike(8, 3)
optimizer = torch.optim.Adam(conv.parameters(), lr=0.05)
for epoch in range(5):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(conv(x, edge_index), y)
    loss.backward()  # freed reused
    optimizer.step()
print(round(loss.item(), 5))
