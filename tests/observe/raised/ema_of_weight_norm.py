import copy
import torch, torch.nn as nn
class Ema:
    def __init__(self, model):
        self.shadow = copy.deepcopy(model)  # raises AFT503: model.lin.weight
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.utils.weight_norm(nn.Linear(3, 3))
    def forward(self, x):
        return self.lin(x)  # made
net = Net()
net(torch.randn(2, 3))
ema = Ema(net)
