"""The state is carried through three iterations, and on into the next three."""

import torch

torch.manual_seed(0)
cell, head = torch.nn.GRUCell(3, 4), torch.nn.Linear(4, 1)
opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
state, loss = {"h": torch.zeros(2, 4)}, 0
for step, x in enumerate(torch.randn(12, 2, 3)):
    state = {"h": cell(x, state["h"])}
    loss = loss + head(state["h"]).pow(2).mean()
    if step % 3 == 2:
        state = {k: v.detach() for k, v in state.items()}
        opt.zero_grad()
        loss.backward()
        opt.step()
        loss = 0
