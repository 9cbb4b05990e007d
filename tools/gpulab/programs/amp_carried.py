# finds: AFT103
"""A state carried over under autocast, with a scaler."""

import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.GRUCell(16, 32).cuda(), nn.Linear(32, 1).cuda()
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-3)
scaler = torch.amp.GradScaler("cuda")
hidden = torch.zeros(8, 32, device="cuda")
for _ in range(5):
    x, y = torch.randn(8, 16, device="cuda"), torch.randn(8, 1, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        hidden = cell(x, hidden)
        loss = nn.functional.mse_loss(head(hidden), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
