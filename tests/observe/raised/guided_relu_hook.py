import torch
from torch import nn

class GuidedBackprop:
    def __init__(self, model):
        self.model = model
        for layer in model.modules():
            if isinstance(layer, nn.ReLU):
                layer.register_full_backward_hook(self.keep_positive)
    def keep_positive(self, layer, grad_input, grad_output):
        positive = grad_output[0].clamp(min=0)
        return positive, grad_input[0]
    def __call__(self, x):
        x.requires_grad_()
        self.model(x).max().backward()  # raises AFT505: keep_positive
        return x.grad
GuidedBackprop(nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)))(torch.randn(1, 4))
