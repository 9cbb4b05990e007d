"""What README.md takes for granted."""

import torch


def train():
    layer = torch.nn.Linear(3, 1)
    layer(torch.randn(4, 3)).pow(2).mean().backward()
