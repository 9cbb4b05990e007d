# finds: AFT103
"""A compiled cell whose state is carried over."""

import torch
from torch import nn

torch.manual_seed(0)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.head = nn.GRUCell(16, 32), nn.Linear(32, 1)

    def forward(self, x, hidden):
        hidden = self.cell(x, hidden)
        return self.head(hidden), hidden


model = torch.compile(Model().cuda())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
hidden = torch.zeros(8, 32, device="cuda")
for _ in range(5):
    prediction, hidden = model(torch.randn(8, 16, device="cuda"), hidden)
    loss = prediction.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
