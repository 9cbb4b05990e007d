import torch
import torch.nn.functional as F
from torch.nn import GRU, Parameter


class EvolveGCNO(torch.nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.in_channels = in_channels
        self.initial_weight = Parameter(torch.empty(1, in_channels, in_channels))
        self.weight = None
        self.recurrent_layer = GRU(in_channels, in_channels, num_layers=1)
        torch.nn.init.xavier_uniform_(self.initial_weight)

    def forward(self, X, adj):
        W = self.initial_weight if self.weight is None else self.weight
        _, W = self.recurrent_layer(W, W)
        self.weight = W
        return adj @ X @ W.squeeze(0)


class RecurrentGCN(torch.nn.Module):
    def __init__(self, node_features):
        super().__init__()
        self.recurrent = EvolveGCNO(node_features)
        self.linear = torch.nn.Linear(node_features, 1)

    def forward(self, x, adj):
        h = self.recurrent(x, adj)
        h = F.relu(h)
        return self.linear(h)


torch.manual_seed(0)
snapshots = [(torch.randn(10, 4), torch.softmax(torch.randn(10, 10), 1), torch.randn(10, 1)) for _ in range(5)]
model = RecurrentGCN(4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model.train()

for epoch in range(4):
    cost = 0
    for time, (x, adj, y) in enumerate(snapshots):
        y_hat = model(x, adj)
        cost = cost + torch.mean((y_hat - y) ** 2)
    cost = cost / (time + 1)
    cost.backward()
    optimizer.step()
    optimizer.zero_grad()
