import torch, torch.nn as nn
from torch.autograd.function import once_differentiable
class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        x, = ctx.saved_tensors
        s = torch.sigmoid(x)
        return g * (s + x * s * (1 - s))
lin = nn.Linear(3, 1)
def penalty(x):
    x.requires_grad_(True)
    out = Swish.apply(lin(x)).pow(2).sum()
    g, = torch.autograd.grad(out, x, create_graph=True)  # made
    return (g.norm(2, dim=1) - 1).pow(2).mean()
loss = penalty(torch.randn(4, 3))
loss.backward()  # raises AFT513
