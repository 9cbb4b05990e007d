import torch
from torch import nn


def make_optimizer(model):
    trained = [name for name, p in model.named_parameters() if p.requires_grad]
    return torch.optim.Adam(trained, lr=1e-3)  # raises AFT504


make_optimizer(nn.Linear(3, 1))
