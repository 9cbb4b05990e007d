import torch
from torch import nn

torch.manual_seed(69)


class Surface(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, p):
        return self.net(p).squeeze(-1)


def losses(model, points, height, weight=0.5):
    near = points + 0.05 * torch.randn_like(points)
    data = (model(points) - height).abs().mean()
    smooth = weight * (model(points) - model(near)).abs().mean() / 0.05
    return {"data": data, "smooth": smooth}


model = Surface()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(15):
    points = torch.rand(32, 2)
    height = (6 * points[:, 0]).sin() + 0.3 * torch.randn(32)
    parts = losses(model, points, height)
    total = sum(v for k, v in parts.items() if k in ("data", "smooth"))
    opt.zero_grad()
    total.backward()
    opt.step()
print({k: round(v.item(), 4) for k, v in parts.items()})
