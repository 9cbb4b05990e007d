import torch
from torch import nn

torch.manual_seed(49)


class Levels(nn.Module):
    """One offset per group; the two penalties share only additions and views."""

    def __init__(self, groups=6):
        super().__init__()
        self.level = nn.Parameter(torch.randn(groups))
        self.shift = nn.Parameter(torch.zeros(1))

    def forward(self):
        return (self.level + self.shift).view(2, 3)


model = Levels()
opt = torch.optim.SGD(model.parameters(), lr=0.02)
wanted = torch.arange(6.0).view(2, 3)
for step in range(6):
    table = model()
    rows, cols = table.sum(0) - wanted.sum(0), table.sum(1) - wanted.sum(1)
    opt.zero_grad()
    rows.square().mean().backward()
    cols.square().mean().backward()
    opt.step()
print("levels", [round(v, 3) for v in model().flatten().tolist()])
