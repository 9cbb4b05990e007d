"""https://github.com/archinetai/smart-pytorch/issues/5"""
import torch
from torch import nn

class Perturbed(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def loss(self, embed, state):
        noise = torch.randn_like(embed, requires_grad=True) * 1e-3
        noise = noise.detach().requires_grad_()  # made
        perturbed = embed + noise.data
        loss = (self.net(perturbed) - state.detach()).pow(2).mean()
        (gradient,) = torch.autograd.grad(loss, noise)  # raises AFT506: noise
        return self.net(embed + noise + gradient).mean()


net = nn.Linear(5, 2)
embed = torch.randn(3, 5)
Perturbed(net).loss(embed, net(embed)).backward()
