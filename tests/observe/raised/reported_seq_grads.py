"""https://github.com/natanielruiz/deep-head-pose/issues/85"""
import torch
from torch import nn

heads = nn.ModuleList(nn.Linear(6, 5) for _ in range(3))
x, bins = torch.randn(4, 6), torch.randint(0, 5, (3, 4))
losses = [nn.functional.cross_entropy(head(x), bin) for head, bin in zip(heads, bins)]  # made
gradients = [torch.ones(1) for _ in losses]
torch.autograd.backward(losses, gradients)  # raises AFT505: losses[0]
