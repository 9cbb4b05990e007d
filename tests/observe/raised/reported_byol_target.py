"""https://github.com/lucidrains/byol-pytorch/issues/95"""
import torch
from torch import nn

import copy


class Wrapper(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.hidden = {}
        net[2].register_forward_hook(self._keep)

    def _keep(self, module, inputs, output):
        self.hidden[inputs[0].device] = output  # made

    def forward(self, x):
        self.net(x)  # made
        return self.hidden[x.device]


class Learner(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.online, self.target = Wrapper(net), None

    def forward(self, x):
        projection = self.online(x)
        if self.target is None:
            self.target = copy.deepcopy(self.online)  # raises AFT503: self.online.hidden[...]
        return (projection - self.target(x).detach()).pow(2).mean()


Learner(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4)))(torch.randn(2, 4)).backward()
