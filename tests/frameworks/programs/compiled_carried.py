# needs: torch
# finds: AFT103 hidden detach_state
import torch
from torch import nn

torch.manual_seed(0)


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.i, self.h, self.o = nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x, hidden):
        hidden = torch.tanh(self.i(x) + self.h(hidden))
        return self.o(hidden), hidden


cell = Cell()
model = torch.compile(cell, backend="aot_eager")
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
hidden = torch.zeros(2, 8)
for step in range(5):
    out, hidden = model(torch.randn(2, 4), hidden)  # built  # right: out, hidden = model(torch.randn(2, 4), hidden.detach())
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()  # freed reused
    optimizer.step()
print(round(loss.item(), 5))
