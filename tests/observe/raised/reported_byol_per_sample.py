"""https://github.com/MrChenFeng/Adaptive-Soft-Contrastive-Learning_ICPR2022/issues/2"""
import torch
from torch import nn

def byol_loss(x, y):
    x, y = nn.functional.normalize(x, dim=-1), nn.functional.normalize(y, dim=-1)
    return 2 - 2 * (x * y).sum(dim=-1)  # made


encoder, predictor = nn.Linear(8, 4), nn.Linear(4, 4)
optimizer = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=0.1)
for view_1, view_2 in torch.randn(3, 2, 16, 8):
    with torch.no_grad():
        target = encoder(view_2)
    loss = byol_loss(predictor(encoder(view_1)), target)  # made
    optimizer.zero_grad()
    loss.backward()  # raises AFT505: loss
    optimizer.step()
