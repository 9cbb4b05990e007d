# needs: torch_geometric
# finds: AFT103 data.x detach_state
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

torch.manual_seed(0)
edges = torch.randint(0, 12, (2, 40))
data = Data(x=torch.randn(12, 8), edge_index=edges, y=torch.randint(0, 3, (12,)))
conv, head = GCNConv(8, 8), nn.Linear(8, 3)
optimizer = torch.optim.Adam([*conv.parameters(), *head.parameters()], lr=0.01)


def train():
    optimizer.zero_grad()
    data.x = conv(data.x, data.edge_index).relu()  # built  # right: data.x = conv(data.x.detach(), data.edge_index).relu()
    loss = nn.functional.cross_entropy(head(data.x), data.y)
    loss.backward()  # freed reused
    optimizer.step()
    return loss.item()


for epoch in range(6):
    value = train()
print(round(value, 5))
