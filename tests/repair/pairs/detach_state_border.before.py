import torch
from torch import nn

torch.manual_seed(0)
cell, head = nn.LSTMCell(2, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
done = True
for update in range(4):
    if done:
        h, c = torch.zeros(1, 4), torch.zeros(1, 4)
    values = []
    for _ in range(3):
        h, c = cell(torch.rand(1, 2), (h, c))
        values.append(head(h))
        done = update == 2
    loss = torch.cat(values).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
