"""https://github.com/deel-ai/deel-torchlip/issues/19"""
import copy

import torch
from torch import nn


class BoundedLinear(nn.Linear):
    def forward(self, x):
        self.bounded = self.weight / torch.linalg.matrix_norm(self.weight, 2)  # made
        return nn.functional.linear(x, self.bounded, self.bias)


def fit(model, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    best, lowest = None, float("inf")
    for _ in range(steps):
        loss = model(torch.randn(8, 4)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < lowest:
            best, lowest = copy.deepcopy(model), loss.item()  # raises AFT503: model[0].bounded
    return best


fit(nn.Sequential(BoundedLinear(4, 4), nn.ReLU(), nn.Linear(4, 1)))
