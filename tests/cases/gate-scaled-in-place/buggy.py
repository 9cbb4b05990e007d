import torch
from torch import nn

torch.manual_seed(15)


class Highway(nn.Module):
    def __init__(self, d, drop=0.1):
        super().__init__()
        self.t, self.h, self.drop = nn.Linear(d, d), nn.Linear(d, d), drop

    def forward(self, x, progress):
        gate = torch.sigmoid(self.t(x))
        gate *= 1 - self.drop * progress
        return gate * torch.relu(self.h(x)) + (1 - gate) * x


class Stack(nn.Module):
    def __init__(self, d=7, depth=2):
        super().__init__()
        self.layers = nn.ModuleList(Highway(d) for _ in range(depth))
        self.last = nn.Linear(d, 3)

    def forward(self, x, progress=0.0):
        for layer in self.layers:
            x = layer(x, progress)
        return self.last(x)


def schedule(total):
    for k in range(total):
        yield k, k / total


stack = Stack()
opt = torch.optim.Adam(stack.parameters(), lr=1e-3)
for k, progress in schedule(4):
    x, y = torch.randn(9, 7), torch.randint(0, 3, (9,))
    opt.zero_grad()
    loss = nn.functional.cross_entropy(stack(x, progress), y)
    loss.backward()
    opt.step()
    print(k, round(loss.item(), 4))
