import torch
from torch import nn


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        kept = (x * 1)[:, :1]
        ctx.mark_dirty(kept)
        return kept  # made

    @staticmethod
    def backward(ctx, grad):
        return grad


layer = nn.Linear(3, 2)
out = Clip.apply(layer(torch.ones(4, 3)))  # raises AFT513: Clip
out.sum().backward()
