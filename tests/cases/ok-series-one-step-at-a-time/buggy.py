import torch
from torch import nn

torch.manual_seed(97)
cell, out = nn.GRUCell(2, 6), nn.Linear(6, 1)
opt = torch.optim.SGD([*cell.parameters(), *out.parameters()], lr=0.05)
series = torch.randn(60, 2)


def learn(now, state, wanted):
    state = cell(now.unsqueeze(0), state)
    loss = (out(state) - wanted).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return state.detach()


for epoch in range(3):
    state = torch.zeros(1, 6)
    for now, following in zip(series, series[1:]):
        state = learn(now, state, following[0])
print("state", tuple(state.shape))
