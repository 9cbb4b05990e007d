import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(93)


class Level(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.body, self.side = nn.Sequential(nn.Linear(d, d), nn.Tanh()), nn.Linear(d, 3)


class Nested(nn.Module):
    def __init__(self, d=8, depth=3):
        super().__init__()
        self.levels = nn.ModuleList(Level(d) for _ in range(depth))

    def descend(self, x, visit, depth=0):
        if depth == len(self.levels):
            return x
        level = self.levels[depth]
        h = level.body(x)
        visit(depth, level.side(h))
        return self.descend(h, visit, depth + 1)


net = Nested()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(3):
    x, y = torch.randn(10, 8), torch.randint(0, 3, (10,))
    seen = {}

    def visit(depth, logits):
        loss = F.cross_entropy(logits, y) * 0.5 ** (len(net.levels) - depth)
        loss.backward()
        seen[depth] = round(loss.item(), 4)

    opt.zero_grad()
    net.descend(x, visit)
    opt.step()
    print(step, seen)
