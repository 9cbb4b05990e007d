import torch
from torch import nn


class Quantize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        return (x * levels).round() / levels


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(3, 2)

    def forward(self, x):
        return Quantize.apply(torch.sigmoid(self.body(x)), 8)  # made


encoder = Encoder()
loss = encoder(torch.ones(4, 3)).pow(2).mean()
loss.backward()  # raises AFT513: Quantize
