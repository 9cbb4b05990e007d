import torch
from torch import nn

torch.manual_seed(30)


def jacobian(y, x):
    rows = []
    for i in range(y.numel()):
        row, = torch.autograd.grad(y.flatten()[i], x)
        rows.append(row.flatten())
    return torch.stack(rows)


class Flow(nn.Module):
    def __init__(self, d=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 8), nn.Tanh(), nn.Linear(8, d))

    def forward(self, x):
        return x + 0.1 * self.net(x)


flow = Flow()
for k in range(3):
    x = torch.randn(3, requires_grad=True)
    out = flow(x)
    J = jacobian(out, x)
    print(k, torch.linalg.slogdet(J)[1].item())
