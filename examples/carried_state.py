"""A recurrent model that carries its hidden state from batch to batch, and so fails in the second step."""

import torch
from torch import nn

torch.manual_seed(0)


class Forecaster(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, window: torch.Tensor, hidden: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        for value in window.unbind(1):
            hidden = self.cell(value, hidden)
        return self.head(hidden).squeeze(-1), hidden


model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
hidden = torch.zeros(8, 16)

for step in range(5):
    window = torch.randn(8, 6, 4)
    prediction, hidden = model(window, hidden)
    loss = (prediction - window.mean(dim=(1, 2))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
