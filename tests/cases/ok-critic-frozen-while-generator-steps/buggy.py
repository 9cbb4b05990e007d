import itertools

import torch
from torch import nn

torch.manual_seed(7)
G, D = nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
og, od = torch.optim.RMSprop(G.parameters(), 1e-3), torch.optim.RMSprop(D.parameters(), 1e-3)
reals = itertools.cycle(torch.randn(4, 5, 3))
log = {"d": [], "g": []}
for it in range(6):
    for p in D.parameters():
        p.requires_grad_(True)
    for _ in range(2):
        with torch.no_grad():
            fake = G(torch.randn(5, 2))
        od.zero_grad()
        ld = D(fake).mean() - D(next(reals)).mean()
        ld.backward()
        od.step()
        for p in D.parameters():
            p.data.clamp_(-0.01, 0.01)
    for p in D.parameters():
        p.requires_grad_(False)
    og.zero_grad()
    lg = -D(G(torch.randn(5, 2))).mean()
    lg.backward()
    og.step()
    log["d"].append(ld.detach())
    log["g"].append(lg.item())
print(torch.stack(log["d"]).mean())
