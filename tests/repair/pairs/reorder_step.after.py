import torch
from torch import nn

actor, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
opt_a = torch.optim.SGD(actor.parameters(), lr=0.1)
opt_c = torch.optim.SGD(critic.parameters(), lr=0.1)
for s in torch.randn(3, 8, 3):
    a = torch.randn(8, 2)
    critic_loss = (critic(torch.cat([s, a], 1)) - s.sum(1, keepdim=True)).pow(2).mean()
    opt_c.zero_grad()
    critic_loss.backward()
    opt_c.step()
    actor_loss = -critic(torch.cat([s, actor(s)], 1)).mean()
    opt_a.zero_grad()
    actor_loss.backward()
    opt_a.step()
