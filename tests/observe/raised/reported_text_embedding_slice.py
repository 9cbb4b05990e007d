"""https://github.com/aliasgharkhani/SLiMe/issues/10"""
import torch
from torch import nn

class Prompt:
    def __init__(self, length, width):
        self.text_embedding = torch.randn(1, length, width)
        self.text_embedding.requires_grad_()
        self.to_optimize = self.text_embedding[:, 1:3]  # made

    def optimizer(self):
        return torch.optim.Adam([self.to_optimize], lr=0.01)  # raises AFT502: self.to_optimize


Prompt(7, 4).optimizer()
