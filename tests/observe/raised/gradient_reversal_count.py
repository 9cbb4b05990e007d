import torch, torch.nn as nn
gan_d = nn.Linear(3, 1)
class GradReverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)
    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.alpha  # made
feat = nn.Linear(3, 3)
out = gan_d(GradReverse.apply(feat(torch.randn(2, 3)), 0.5)).sum()  # made
out.backward()  # raises AFT513: GradReverse
