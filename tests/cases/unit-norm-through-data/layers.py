from torch import nn


class L2Norm(nn.Module):
    def __init__(self, eps=1e-10):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        norm = x.data.pow(2).sum(dim=1, keepdim=True).clamp(min=self.eps).sqrt()
        return x.data / norm
