import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x):
        return self.left(x).mean(), self.right(x).mean()


model = Heads()
losses = model(torch.ones(4, 3))
torch.autograd.backward(losses, [torch.tensor(1.0)])  # raises AFT505: losses[0]
