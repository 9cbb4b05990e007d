# needs: dgl
# light
# finds: AFT103 g.ndata["h"] detach_state
import dgl
import torch
from dgl.nn import GraphConv
from torch import nn

torch.manual_seed(0)
dgl.seed(0)
g = dgl.add_self_loop(dgl.rand_graph(12, 40))
g.ndata["h"] = torch.randn(12, 8)
labels = torch.randint(0, 3, (12,))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.out = GraphConv(8, 8), nn.Linear(8, 3)

    def forward(self, g):
        h = torch.relu(self.conv(g, g.ndata["h"]))  # built  # right: h = torch.relu(self.conv(g, g.ndata["h"].detach()))
        g.ndata["h"] = h
        return self.out(h)


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
for epoch in range(6):
    loss = nn.functional.cross_entropy(net(g), labels)
    optimizer.zero_grad()
    loss.backward()  # freed reused
    optimizer.step()
print(round(loss.item(), 5))
