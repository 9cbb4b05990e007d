"""https://github.com/pytorch/pytorch/issues/95110"""
import torch
from torch import nn

model = nn.Linear(4, 3)
x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
_, predicted = torch.max(model(x), 1)  # made
predicted.requires_grad = True  # raises AFT504: predicted
loss = (predicted - y).float().pow(2).mean()
loss.backward()
