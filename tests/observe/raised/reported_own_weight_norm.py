"""https://github.com/locuslab/deq/issues/23"""
import copy, torch, torch.nn as nn
class Normed(nn.Module):
    def __init__(self, conv):
        super().__init__()
        self.conv, self.v = conv, nn.Parameter(conv.weight.detach().clone())
        self.g = nn.Parameter(self.v.flatten(1).norm(dim=1))
        del conv._parameters["weight"]
        self.refresh()
    def refresh(self):
        self.conv.weight = self.g.view(-1, 1, 1, 1) * self.v / self.v.flatten(1).norm(dim=1).view(-1, 1, 1, 1)  # made
net = nn.Sequential(Normed(nn.Conv2d(1, 2, 3)), nn.ReLU())
frozen = copy.deepcopy(net)  # raises AFT503: net[0].conv.weight
