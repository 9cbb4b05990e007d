import torch
import torch.nn.functional as F
from meters import Meter
from torch import nn

torch.manual_seed(99)
embed = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
opt = torch.optim.Adam(embed.parameters(), lr=1e-3)
meters = {"triplet": Meter(), "norm": Meter()}


def batch(n=12):
    anchor = torch.randn(n, 8)
    return anchor, anchor + 0.1 * torch.randn(n, 8), torch.randn(n, 8)


for step in range(5):
    a, p, n = (embed(v) for v in batch())
    meters["triplet"].update(F.triplet_margin_loss(a, p, n))
    meters["norm"].update(a.norm(dim=1).mean())
    objective = meters["triplet"].avg + 0.01 * meters["norm"].avg
    opt.zero_grad()
    objective.backward()
    opt.step()
    print(step, " ".join(f"{k}={v}" for k, v in meters.items()))
