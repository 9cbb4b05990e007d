import torch
from torch import nn


class Mixture(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.logs = nn.ParameterList(nn.Parameter(torch.zeros(2)) for _ in range(parts))
        self.scales = [log.exp() for log in self.logs]

    def forward(self, x):
        return sum(x * scale for scale in self.scales)


torch.manual_seed(0)
mixture = Mixture(3)
optimizer = torch.optim.SGD(mixture.parameters(), lr=0.1)
for step in range(4):
    x = torch.rand(5, 2)
    loss = (mixture(x) - 2 * x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
