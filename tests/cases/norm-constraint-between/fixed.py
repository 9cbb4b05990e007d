import torch
from torch import nn

torch.manual_seed(94)


class MaxNorm:
    def __init__(self, modules, limit):
        self.modules, self.limit = modules, limit

    @torch.no_grad()
    def apply(self):
        for m in self.modules:
            norm = m.weight.norm(dim=1, keepdim=True)
            m.weight.mul_((self.limit / norm).clamp(max=1.0))


class Maxout(nn.Module):
    def __init__(self, i, o, pieces=3):
        super().__init__()
        self.lin, self.pieces = nn.Linear(i, o * pieces), pieces

    def forward(self, x):
        return self.lin(x).unflatten(-1, (-1, self.pieces)).amax(-1)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Maxout(6, 10), Maxout(10, 10)])
        self.out = nn.Linear(10, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.out(x).squeeze(-1)


model = Model()
constraint = MaxNorm([layer.lin for layer in model.layers] + [model.out], limit=0.5)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(4):
    x = torch.randn(10, 6)
    loss = (model(x) - x.amax(1)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    constraint.apply()
    print(step, round(loss.item(), 4))
