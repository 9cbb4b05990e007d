"""https://github.com/alibaba/TinyNeuralNetwork/issues/238"""
import torch
from torch import nn

class Stacked(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.cells = nn.ModuleList(nn.GRUCell(4, 4) for _ in range(layers))
        self.start = nn.Parameter(torch.zeros(layers, 1, 2, 4))

    def forward(self, x):
        hx = self.start.clone().unbind(0)  # made
        hx = [h.squeeze_(0) for h in hx]  # raises AFT508: h
        for number, cell in enumerate(self.cells):
            x = cell(x, hx[number])
        return x


Stacked(2)(torch.randn(2, 4)).sum().backward()
