# needs: dgl
# light
# finds: AFT103 g.ndata["mem"] detach_state
import dgl
import dgl.function as fn
import torch
from torch import nn

torch.manual_seed(0)
dgl.seed(0)


class MemoryUpdater(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.gru = nn.GRUCell(dim, dim)

    def forward(self, g):
        with g.local_scope():
            g.update_all(fn.copy_u("mem", "m"), fn.mean("m", "agg"))
            new = self.gru(g.ndata["agg"], g.ndata["mem"])  # built
        g.ndata["mem"] = new  # right: g.ndata["mem"] = new.detach()
        return new


g = dgl.add_self_loop(dgl.rand_graph(12, 40))
g.ndata["mem"] = torch.randn(12, 8)
updater, out = MemoryUpdater(8), nn.Linear(8, 1)
opt = torch.optim.Adam([*updater.parameters(), *out.parameters()], lr=0.01)
for batch in range(5):
    loss = (out(updater(g)).squeeze(-1) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # freed reused
    opt.step()
print(round(loss.item(), 5))
