# finds: nothing
"""One part of the network as graphed callables, the rest eager."""

import torch
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64)).cuda()
head = nn.Linear(64, 1).cuda()
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-3)
body = torch.cuda.make_graphed_callables(body, (torch.randn(16, 32, device="cuda"),))
for _ in range(20):
    optimizer.zero_grad()
    loss = head(body(torch.randn(16, 32, device="cuda"))).pow(2).mean()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.6f}")
