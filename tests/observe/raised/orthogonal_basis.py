import torch
from torch import nn


def basis(weight):
    q, _ = torch.linalg.qr(weight, mode="complete")  # made
    return q


layer = nn.Linear(3, 5)
loss = (basis(layer.weight) - torch.eye(5)).pow(2).sum()
loss.backward()  # raises AFT514
