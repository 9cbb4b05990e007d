import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks


def pack(saved):
    return saved.mul_(0.5)


model = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid(), nn.Linear(4, 1))
x = torch.ones(2, 3)
with saved_tensors_hooks(pack, lambda packed: packed * 2):
    loss = torch.sigmoid(x * model[0].weight.sum()).mean()  # raises AFT514
