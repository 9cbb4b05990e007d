import torch
from torch import nn

torch.manual_seed(40)
OPS = {"skip": lambda d: nn.Identity(), "lin": lambda d: nn.Linear(d, d), "tanh": lambda d: nn.Sequential(nn.Linear(d, d), nn.Tanh())}


class MixedOp(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.ops = nn.ModuleList(make(d) for make in OPS.values())

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self.ops))


class SuperNet(nn.Module):
    def __init__(self, d=5, cells=2):
        super().__init__()
        self.cells = nn.ModuleList(MixedOp(d) for _ in range(cells))
        self.alphas = nn.Parameter(1e-3 * torch.randn(cells, len(OPS)))
        self.weights = None

    def new_epoch(self):
        self.weights = torch.softmax(self.alphas, dim=-1)

    def forward(self, x):
        self.new_epoch()
        for cell, w in zip(self.cells, self.weights):
            x = cell(x, w)
        return x


class Architect:
    def __init__(self, net):
        self.net = net
        self.opt = torch.optim.Adam([net.alphas], lr=3e-4)

    def step(self, x, y):
        self.opt.zero_grad()
        (self.net(x) - y).pow(2).mean().backward()
        self.opt.step()


net = SuperNet()
architect = Architect(net)
w_opt = torch.optim.SGD(net.cells.parameters(), lr=0.05)
for epoch in range(2):
    net.new_epoch()
    for step in range(3):
        architect.step(torch.randn(6, 5), torch.randn(6, 5))
    print(epoch, net.weights.detach().tolist()[0][0])
