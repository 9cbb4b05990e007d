# needs: dgl
# light
# finds: AFT107 g.edata["a"] recompute_forward
import dgl
import dgl.function as fn
import torch
from dgl.nn.functional import edge_softmax
from torch import nn

torch.manual_seed(0)


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.score, self.out = nn.Linear(2 * dim, 1), nn.Linear(dim, 3)

    def attend(self, g):
        src, dst = g.edges()
        pair = torch.cat([g.ndata["x"][src], g.ndata["x"][dst]], 1)
        g.edata["a"] = edge_softmax(g, torch.tanh(self.score(pair)))  # built

    def forward(self, g):
        g.update_all(fn.u_mul_e("x", "a", "m"), fn.sum("m", "h"))
        return self.out(g.ndata["h"])


def main():
    g = dgl.graph((torch.randint(0, 10, (40,)), torch.randint(0, 10, (40,))))
    g.ndata["x"] = torch.randn(10, 6)
    labels = torch.randint(0, 3, (10,))
    model = Attention(6)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.attend(g)
    for epoch in range(4):
        logits = model(g)  # right: model.attend(g); logits = model(g)
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()  # freed reused
        optimizer.step()
    print(round(loss.item(), 5))


main()
