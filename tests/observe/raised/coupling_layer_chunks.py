import torch, torch.nn as nn
class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(2, 2)
    def forward(self, x):
        a, b = x.chunk(2, dim=1)  # made
        b *= torch.exp(self.scale(a))  # raises AFT508: b
        return torch.cat([a, b], 1)
pre = nn.Linear(4, 4)
flow = Flow()
flow(pre(torch.randn(3, 4))).sum().backward()
