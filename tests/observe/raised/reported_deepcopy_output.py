"""https://github.com/pytorch/pytorch/issues/54580"""
import torch
from torch import nn

from copy import deepcopy


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, 2, 3), nn.Conv2d(2, 1, 3)

    def forward(self, x):
        self.shown = self.second(self.first(x))  # made
        return self.shown


model = Net()
model(torch.randn(1, 1, 16, 16)).mean().backward()
best = deepcopy(model)  # raises AFT503: model.shown
