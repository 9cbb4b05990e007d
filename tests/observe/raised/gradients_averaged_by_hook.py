import torch
from torch import nn

class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3, padding=1)
        self.head = nn.Linear(4, 2)
        self.maps = None
    def forward(self, x):
        self.maps = self.conv(x).relu()
        self.maps.register_hook(average_gradients)
        return self.head(self.maps.mean(-1))

def average_gradients(grad):
    pooled = grad.mean(dim=-1)
    return pooled

def explain(net, x):
    scores = net(x)
    scores[:, 0].sum().backward()  # raises AFT505: average_gradients
    return net.maps
explain(Encoder(), torch.randn(2, 3, 8))
