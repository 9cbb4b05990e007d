# finds: nothing
"""A compiled network, trained by an eager loop."""

import torch
from torch import nn

torch.manual_seed(0)
model = torch.compile(nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 1)).cuda())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(10):
    optimizer.zero_grad()
    loss = model(torch.randn(16, 32, device="cuda")).pow(2).mean()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.6f}")
