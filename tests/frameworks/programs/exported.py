# needs: torch
# light
# finds: AFT103 state detach_state
import torch
from torch import nn

torch.manual_seed(0)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = nn.GRUCell(4, 8), nn.Linear(8, 2)

    def forward(self, x, state):
        state = self.cell(x, state)
        return self.out(state), state


model = Policy()
program = torch.export.export(model, (torch.zeros(2, 4), torch.zeros(2, 8)), strict=True)
print(len(program.graph.nodes))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
state = torch.zeros(2, 8)
for step in range(4):
    out, state = model(torch.randn(2, 4), state)  # right: out, state = model(torch.randn(2, 4), state.detach())
    loss = out.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()  # freed reused
    optimizer.step()
print(round(loss.item(), 5), len(torch.export.export(model, (torch.zeros(2, 4), torch.zeros(2, 8)), strict=True).graph.nodes))
