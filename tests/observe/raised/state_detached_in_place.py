import torch
from torch import nn
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.i, self.r = nn.Linear(3, 5), nn.Linear(5, 5)
        self.h = None
    def forward(self, x):
        h = torch.zeros(x.shape[0], 5) if self.h is None else self.h
        self.h = torch.tanh(self.i(x) + self.r(h))
        return self.h * self.h.sigmoid()
    def detach_state(self):
        self.h.detach_()  # made
cell = Cell()
opt = torch.optim.SGD(cell.parameters(), lr=0.1)
for step in range(5):
    out = cell(torch.randn(2, 3))
    cell.detach_state()
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()  # raises AFT514: self.h
    opt.step()
