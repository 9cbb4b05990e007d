"""https://github.com/pytorch/pytorch/issues/22820"""
import torch
from torch import nn

torch.autograd.set_detect_anomaly(True)
model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1), nn.ReLU())
nn.init.constant_(model[2].bias, -50.0)
x, target = torch.randn(8, 3), torch.zeros(8, 1)
output = model(x)
numerator = (output - target).abs()
denominator = output.abs() + target.abs()
smape = numerator / denominator  # made
bad = torch.isnan(smape)
loss = smape[~bad].sum()
loss.backward()  # raises AFT510
