"""https://github.com/vinsis/ternary-quantization/issues/4"""
import torch
from torch import nn

device = torch.device("cpu")
weights = [nn.Linear(4, 4).weight for _ in range(3)]
scaling_factors = [torch.ones(2, requires_grad=True).to(device, torch.float64) for _ in weights]  # made
optimizer = torch.optim.Adam(scaling_factors, lr=1e-3)  # raises AFT502: scaling_factors[0]
