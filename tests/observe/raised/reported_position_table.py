"""https://github.com/Atcold/NYU-DLSP20/issues/765"""
import torch
from torch import nn

def sinusoids(positions, width, table):
    theta = torch.arange(positions).unsqueeze(1) / 10000 ** (torch.arange(width) / width)
    table[:, 0::2] = torch.sin(theta[:, 0::2])  # raises AFT501: table
    table[:, 1::2] = torch.cos(theta[:, 1::2])


class Embeddings(nn.Module):
    def __init__(self, words, width, positions):
        super().__init__()
        self.words, self.positions = nn.Embedding(words, width), nn.Embedding(positions, width)
        sinusoids(positions, width, self.positions.weight)


Embeddings(50, 8, 16)
