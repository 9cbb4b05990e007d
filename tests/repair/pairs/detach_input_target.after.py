import torch
from torch import nn

torch.manual_seed(0)
actor, target = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), nn.Sequential(nn.Linear(4, 4), nn.Tanh())
critics = [nn.Linear(4, 4), nn.Linear(4, 4)]
opts = [torch.optim.SGD(q.parameters(), lr=0.1) for q in critics]
actor_opt = torch.optim.SGD(actor.parameters(), lr=0.1)
for s in torch.randn(4, 5, 3):
    sa = torch.cat([s, torch.rand(5, 1)], 1)
    y = (1 + 0.9 * target(torch.cat([s, actor(s)], 1))).detach()  # what both are to learn
    for q, opt in zip(critics, opts):
        loss = nn.functional.mse_loss(q(sa), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    actor_opt.zero_grad()
    (-critics[0](torch.cat([s, actor(s)], 1)).mean()).backward()
    actor_opt.step()
