import torch
from torch import nn

torch.manual_seed(85)


class Multi(nn.Module):
    def __init__(self, tasks=3):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(8, 20), nn.ReLU(), nn.Linear(20, 10))
        self.heads = nn.ModuleList(nn.Linear(10, 1) for _ in range(tasks))

    def losses(self, x, ys):
        feats = self.shared(x).relu()
        return [(h(feats).squeeze(-1) - y).square().mean() for h, y in zip(self.heads, ys)]


def balance(losses, weight, alpha=1.0):
    """Scale each task so that its gradient on the last shared layer has the same norm."""
    norms = []
    for loss in losses:
        g, = torch.autograd.grad(loss, weight)
        norms.append(g.norm().clamp(min=1e-8))
    norms = torch.stack(norms)
    return (norms.mean() / norms) ** alpha


model = Multi()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for it in range(4):
    x = torch.randn(18, 8)
    targets = x[:, 0], 5 * x[:, 1] * x[:, 2], 0.1 * x.norm(dim=1)
    losses = model.losses(x, targets)
    scale = balance(losses, model.shared[2].weight)
    total = sum(s * v for s, v in zip(scale, losses))
    opt.zero_grad()
    total.backward()
    opt.step()
    print(it, [round(s, 3) for s in scale.tolist()])
