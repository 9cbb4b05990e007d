"""https://github.com/Hunter-DDM/knowledge-neurons/issues/14"""
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.dense = nn.Linear(6, 4)


model = nn.ModuleDict({"encoder": nn.ModuleList(Block() for _ in range(2))})
neurons = [(0, 1), (1, 3)]
old, new = torch.randn(4), torch.randn(4)
for layer, position in neurons:
    model["encoder"][layer].dense.weight[:, position] -= old  # raises AFT501: model['encoder'][layer].dense.weight
    model["encoder"][layer].dense.weight[:, position] += new
