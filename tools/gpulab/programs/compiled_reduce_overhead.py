# finds: nothing
"""Compiled with CUDA graphs inside."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 1)).cuda()
compiled = torch.compile(model, mode="reduce-overhead")
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(10):
    optimizer.zero_grad()
    loss = compiled(torch.randn(16, 32, device="cuda")).pow(2).mean()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.6f}")
