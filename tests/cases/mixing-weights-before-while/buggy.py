import torch
from torch import nn

torch.manual_seed(3)
OPS = {
    "linear": lambda d: nn.Linear(d, d),
    "gate": lambda d: nn.Sequential(nn.Linear(d, d), nn.Sigmoid()),
    "skip": lambda d: nn.Identity(),
}


class Mixed(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ops = nn.ModuleList(make(d) for make in OPS.values())

    def forward(self, x, mix):
        return sum(m * op(x) for m, op in zip(mix, self.ops))


class Cell(nn.Module):
    def __init__(self, d=6, edges=2):
        super().__init__()
        self.edges = nn.ModuleList(Mixed(d) for _ in range(edges))
        self.arch = nn.Parameter(1e-3 * torch.randn(edges, len(OPS)))
        self.head = nn.Linear(d, 2)

    def forward(self, x, gates):
        for edge, mix in zip(self.edges, gates):
            x = edge(x, mix)
        return self.head(x)


cell = Cell()
weights = [p for n, p in cell.named_parameters() if n != "arch"]
phases = [("warmup", torch.optim.SGD(weights, lr=0.05)), ("search", torch.optim.Adam([cell.arch, *weights], lr=3e-3))]
for phase, opt in phases:
    cell.arch.requires_grad_(phase == "search")
    gates = cell.arch.softmax(-1)
    left = 4
    while left:
        x, y = torch.randn(10, 6), torch.randint(0, 2, (10,))
        loss = nn.functional.cross_entropy(cell(x, gates), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        left -= 1
    print(phase, round(loss.item(), 4))
