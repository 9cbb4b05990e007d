import torch
class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w
    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w.t(), (x.t() @ g).sum(0)  # made
w = torch.randn(4, 2, requires_grad=True)
x = torch.randn(3, 4, requires_grad=True)
out = Half.apply(x, w)  # made
out.sum().backward()  # raises AFT513: Half
