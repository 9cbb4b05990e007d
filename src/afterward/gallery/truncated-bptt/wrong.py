"""A long series in windows; the hidden state goes from window to window with its graph."""

import torch
from torch import nn

torch.manual_seed(0)
series = torch.sin(torch.arange(0, 40, 0.1)).view(1, -1, 1)
network, head = nn.LSTM(1, 16, batch_first=True), nn.Linear(16, 1)
optimizer = torch.optim.Adam([*network.parameters(), *head.parameters()], lr=1e-2)
state = None

for window, (inputs, targets) in enumerate(zip(series[:, :-1].split(50, 1), series[:, 1:].split(50, 1), strict=True)):
    output, state = network(inputs, state)
    loss = (head(output) - targets).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"window {window} loss {loss.item():.4f}")
