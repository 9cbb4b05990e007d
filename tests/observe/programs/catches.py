"""Catches the error itself, prints its words, goes on, and leaves with a status of its own."""

import sys

import torch

torch.manual_seed(4)
weight = torch.ones(3, requires_grad=True)
parameters = [weight]
loss = (weight * weight).sum()
loss.backward()
try:
    loss.backward()
except RuntimeError as error:
    print(type(error).__name__, str(error)[:50], error.args[0][-20:])
print(weight.grad)
sys.exit(7)
