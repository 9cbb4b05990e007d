import torch
from torch import nn


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return 0.0  # made


encoder, decoder = nn.Linear(3, 2), nn.Linear(2, 3)
x = torch.rand(4, 3)
codes = Round.apply(encoder(x))  # made
loss = (decoder(codes) - x).pow(2).mean()
loss.backward()  # raises AFT513: Round
