import torch, torch.nn as nn
class Hyper(nn.Module):
    def __init__(self):
        super().__init__()
        self.gen = nn.Linear(2, 12)
        self.target = nn.Linear(4, 3, bias=False)
    def forward(self, z, x):
        w = self.gen(z).view(3, 4)  # made
        self.target.weight = w  # raises AFT502: w
        return self.target(x)
h = Hyper()
h(torch.randn(2), torch.randn(5, 4))
