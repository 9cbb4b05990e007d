import torch
from torch import nn
from torch.func import grad

energy = nn.Linear(3, 1)


def total(positions):
    positions = positions.clone()
    positions.requires_grad_(True)  # raises AFT514: positions
    return energy(positions).sum()


forces = grad(total)(torch.ones(4, 3))
