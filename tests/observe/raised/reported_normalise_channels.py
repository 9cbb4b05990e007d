"""https://github.com/paarthneekhara/AdversarialDeepFakes/issues/23"""
import torch
from torch import nn

class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = mean, std

    def __call__(self, tensor):
        for t, m, s in zip(tensor, self.mean, self.std):  # made
            t.sub_(m).div_(s)  # raises AFT508: t
        return tensor


image = torch.rand(3, 8, 8)
delta = torch.zeros_like(image, requires_grad=True)
model = nn.Sequential(nn.Flatten(), nn.Linear(192, 2))
attacked = Normalize([0.5] * 3, [0.2] * 3)(image + delta)
model(attacked.unsqueeze(0)).sum().backward()
