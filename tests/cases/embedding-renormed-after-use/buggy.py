import torch
import torch.nn as nn

torch.manual_seed(10)


class ProtoClassifier(nn.Module):
    """Scores words against all rows of a norm-bounded table."""

    def __init__(self, n=12, d=6):
        super().__init__()
        self.emb = nn.Embedding(n, d, max_norm=1.0)
        self.mix = nn.Linear(d, d, bias=False)

    def forward(self, idx):
        table = self.mix(self.emb.weight)
        rows = self.emb(idx)
        return rows @ table.t()


net = ProtoClassifier()
opt = torch.optim.SGD(net.parameters(), lr=0.5)
for step in range(3):
    idx = torch.randint(0, 12, (8,))
    loss = nn.functional.cross_entropy(net(idx), idx)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, round(loss.item(), 4))
