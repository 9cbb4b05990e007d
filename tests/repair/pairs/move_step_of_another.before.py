"""The optimizer of the critic steps where that of the actor should."""

import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(3, 1), nn.Linear(3, 1)
opt_a = torch.optim.SGD(actor.parameters(), lr=0.05)
opt_c = torch.optim.SGD(critic.parameters(), lr=0.05)
for step in range(8):
    state = torch.randn(8, 3)
    value = critic(state)
    loss_a = (actor(state) * value.detach()).mean()
    loss_c = (value - state.sum(1, keepdim=True)).pow(2).mean()
    opt_a.zero_grad()
    loss_a.backward()
    opt_c.step()
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()
