# needs: dgl
# light
# finds: AFT103 g.nodes["user"].data["h"] detach_state
import dgl
import dgl.function as fn
import torch
from torch import nn

torch.manual_seed(0)
dgl.seed(0)
g = dgl.heterograph({("item", "bought_by", "user"): (torch.randint(0, 6, (20,)), torch.randint(0, 5, (20,)))}, num_nodes_dict={"item": 6, "user": 5})
g.nodes["item"].data["x"] = torch.randn(6, 4)
g.nodes["user"].data["h"] = torch.zeros(5, 8)


class Update(nn.Module):
    def __init__(self):
        super().__init__()
        self.message, self.cell, self.score = nn.Linear(4, 8), nn.GRUCell(8, 8), nn.Linear(8, 1)

    def forward(self, g):
        with g.local_scope():
            g.nodes["item"].data["m"] = self.message(g.nodes["item"].data["x"])
            g.update_all(fn.copy_u("m", "m"), fn.mean("m", "agg"), etype="bought_by")
            return self.cell(g.nodes["user"].data["agg"], g.nodes["user"].data["h"])  # built


model = Update()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
target = torch.randn(5, 1)
for day in range(6):
    new = model(g)
    g.nodes["user"].data["h"] = new  # right: g.nodes["user"].data["h"] = new.detach()
    loss = nn.functional.mse_loss(model.score(new), target)
    optimizer.zero_grad()
    loss.backward()  # freed reused
    optimizer.step()
print(round(loss.item(), 5))
