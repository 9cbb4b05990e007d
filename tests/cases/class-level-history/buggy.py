import torch
from torch import nn


class Objective:
    terms = []
    weights = {"fit": 1.0, "decay": 1e-3, "sparse": 1e-2}

    def add(self, name, value):
        self.terms.append(self.weights[name] * value)
        return self

    def total(self):
        return torch.stack(self.terms).sum()


class SparseCoder(nn.Module):
    def __init__(self, d=9, k=15):
        super().__init__()
        self.enc, self.dec = nn.Linear(d, k), nn.Linear(k, d, bias=False)

    def forward(self, x):
        code = self.enc(x).relu()
        return self.dec(code), code


def main(steps=3):
    torch.manual_seed(89)
    coder = SparseCoder()
    opt = torch.optim.Adam(coder.parameters(), lr=3e-3)
    for step in range(steps):
        x = torch.randn(14, 9)
        rebuilt, code = coder(x)
        objective = Objective()
        objective.add("fit", (rebuilt - x).square().mean()).add("sparse", code.abs().mean())
        objective.add("decay", coder.dec.weight.square().sum())
        loss = objective.total()
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, round(loss.item(), 4))


main()
