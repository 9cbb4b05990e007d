"""https://github.com/pytorch/pytorch/issues/51196"""
import torch
from torch import nn

def distances(kernels):
    return (kernels**2).sum(dim=(2, 3)).sqrt()  # made


torch.autograd.set_detect_anomaly(True)
conv = nn.Conv2d(2, 3, 3)
with torch.no_grad():
    conv.weight[1] = 0.0
optimizer = torch.optim.SGD(conv.parameters(), lr=0.1)
for image in torch.randn(3, 1, 2, 8, 8):
    loss = conv(image).mean() + distances(conv.weight).sum()
    optimizer.zero_grad()
    loss.backward()  # raises AFT510
    optimizer.step()
