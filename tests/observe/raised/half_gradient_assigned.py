import torch
from torch import nn


def load_gradients(model, gradients):
    for parameter, gradient in zip(model.parameters(), gradients):
        parameter.grad = gradient  # raises AFT505: parameter


model = nn.Linear(3, 1)
received = [torch.zeros_like(p, dtype=torch.float64) for p in model.parameters()]
load_gradients(model, received)
