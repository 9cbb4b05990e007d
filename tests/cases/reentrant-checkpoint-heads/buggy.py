import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(14)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Detector(nn.Module):
    def __init__(self, d=12, depth=3):
        super().__init__()
        self.patch = nn.Linear(7, d)
        self.blocks = nn.ModuleList(Block(d) for _ in range(depth))
        self.box, self.mask = nn.Linear(d, 4), nn.Linear(d, 1)

    def body(self, x):
        h = torch.tanh(self.patch(x))
        for b in self.blocks:
            h = checkpoint(b, h, use_reentrant=True)
        return h

    def forward(self, x):
        h = self.body(x)
        return {"box": self.box(h), "mask": self.mask(h).squeeze(-1)}


class Criterion:
    weights = {"box": 1.0, "mask": 2.0}

    def __call__(self, out, target):
        yield "box", nn.functional.l1_loss(out["box"], target["box"])
        yield "mask", nn.functional.binary_cross_entropy_with_logits(out["mask"], target["mask"])


net, criterion = Detector(), Criterion()
opt = torch.optim.SGD(net.parameters(), lr=0.02)
for step in range(3):
    target = {"box": torch.rand(6, 4), "mask": torch.rand(6).round()}
    outs = net(torch.randn(6, 7))
    opt.zero_grad()
    for name, value in criterion(outs, target):
        (criterion.weights[name] * value).backward()
    opt.step()
    print(step, "ok")
