import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(29)


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, x):
        return self.body(x)


class BootstrappedEnsemble:
    def __init__(self, n=4):
        self.trunk = Trunk()
        self.heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(n))
        self.trunk_opt = torch.optim.Adam(self.trunk.parameters(), lr=1e-3)
        self.heads_opt = torch.optim.Adam(self.heads.parameters(), lr=1e-2)

    def update(self, x, y):
        masks = torch.bernoulli(torch.full((len(self.heads), len(x)), 0.7))
        self.trunk_opt.zero_grad()
        self.heads_opt.zero_grad()
        z = self.trunk(x)
        total = 0.0
        for head, mask in zip(self.heads, masks):
            loss = (mask * (head(z).squeeze(1) - y).pow(2)).mean()
            loss.backward()
            total += loss.item()
        self.trunk_opt.step()
        self.heads_opt.step()
        return total


ensemble = BootstrappedEnsemble()
for step in range(5):
    x = torch.randn(16, 6)
    print(step, f"{ensemble.update(x, x.sum(1).sin()):.5f}")
