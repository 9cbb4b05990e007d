import torch
from torch import nn


def halve(grad_inputs, grad_outputs):
    return (grad_inputs[0] * 0.5,)  # made


layer = nn.Linear(3, 2)
for step in range(2):
    out = layer(torch.ones(4, 3, requires_grad=True))
    out.grad_fn.register_hook(halve)
    out.pow(2).sum().backward()  # raises AFT505: halve
