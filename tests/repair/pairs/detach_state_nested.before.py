import torch
from torch import nn
torch.manual_seed(0)

class Stack(nn.Module):
    def __init__(self, n, depth):
        super().__init__()
        self.cells = nn.ModuleList(nn.LSTMCell(n, n) for _ in range(depth))

    def forward(self, x, state):
        new = {"layers": []}
        for cell, (h, c) in zip(self.cells, state["layers"]):
            h, c = cell(x, (h, c))
            new["layers"].append((h, c))
            x = h
        return x, new

net = Stack(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
state = {"layers": [(torch.zeros(3, 4), torch.zeros(3, 4)) for _ in net.cells]}
for x in torch.randn(5, 3, 4):
    out, state = net(x, state)
    loss = out.pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
