import torch
from torch import nn
from torch.func import functional_call, grad

model = nn.Linear(3, 1)
params = {name: p.detach() for name, p in model.named_parameters()}


def loss_of(params, x, y):
    return (functional_call(model, params, (x,)) - y) ** 2


gradients = grad(loss_of)(params, torch.ones(4, 3), torch.zeros(4, 1))  # raises AFT505
