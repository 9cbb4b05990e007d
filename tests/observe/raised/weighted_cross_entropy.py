import torch
import torch.nn.functional as F
from torch import nn


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(3, 1)
        self.importance = nn.Linear(3, 1)

    def loss(self, x, y):
        weight = torch.sigmoid(self.importance(x))  # made
        return F.binary_cross_entropy(torch.sigmoid(self.net(x)), y, weight=weight)  # raises AFT514: weight


model = Weighted()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    optimizer.zero_grad()
    loss = model.loss(torch.rand(4, 3), torch.ones(4, 1))
    loss.backward()
    optimizer.step()
