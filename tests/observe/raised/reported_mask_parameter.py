"""https://github.com/jiasenlu/NeuralBabyTalk/issues/26"""
import torch
from torch import nn

class Cascade(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.mask = nn.Parameter(options["mask"])  # raises AFT504: options['mask']


Cascade({"mask": torch.ones(3, 4, dtype=torch.uint8)})
