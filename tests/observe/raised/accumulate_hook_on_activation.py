import torch
from torch import nn

net = nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 1))
seen = []


def watch(activation):
    activation.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad))  # raises AFT502: activation


hidden = net[0](torch.ones(4, 3))  # made
watch(hidden)
