import torch
from torch import nn

net = nn.Linear(3, 2)


def train(x, weight):
    out = net(x)
    out.backward(weight)  # raises AFT505: out


train(torch.ones(4, 3), [1.0, 1.0])
