import torch
from torch import nn

torch.manual_seed(100)


def weighted(losses, weights):
    total = sum(w * v for w, v in zip(weights, losses))
    return total


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.a, self.b = nn.Linear(4, 12), nn.Linear(12, 1), nn.Linear(12, 2)

    def forward(self, x):
        h = self.body(x).relu()
        return self.a(h).squeeze(-1), self.b(h)


net = TwoHeads()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x = torch.randn(40, 4)
for epoch in range(10):
    a, b = net(x)
    parts = nn.functional.mse_loss(a, x[:, 0]), nn.functional.cross_entropy(b, (x[:, 1] > 0).long())
    loss = weighted(parts, (1.0, 0.5))
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch in (0, 9):
        print(epoch, round(loss.item(), 4))
