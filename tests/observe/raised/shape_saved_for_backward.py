import torch
from torch import nn


class Pool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.shape[1])
        return x.mean(1)

    @staticmethod
    def backward(ctx, grad):
        (n,) = ctx.saved_tensors
        return grad[:, None].expand(-1, n) / n


net = nn.Linear(3, 4)
Pool.apply(net(torch.ones(2, 3))).sum().backward()  # raises AFT513
