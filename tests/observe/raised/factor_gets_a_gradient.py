import torch
from torch import nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.factor, (grad * x).sum()  # made


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 2)
        self.factor = 0.5

    def forward(self, x):
        return Scale.apply(self.body(x), self.factor)  # made


net = Net()
for step in range(2):
    loss = net(torch.ones(4, 3)).pow(2).mean()
    loss.backward()  # raises AFT513: Scale
