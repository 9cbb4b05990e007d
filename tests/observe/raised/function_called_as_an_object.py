import torch
from torch import nn


class Reverse(torch.autograd.Function):
    def forward(self, x):
        return x

    def backward(self, grad):
        return -grad


features, domain = nn.Linear(3, 2), nn.Linear(2, 1)


def domain_loss(x):
    return domain(Reverse()(features(x))).mean()  # raises AFT513


domain_loss(torch.ones(4, 3)).backward()
