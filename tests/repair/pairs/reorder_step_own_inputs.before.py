import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)
generator, critic = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
g_opt = torch.optim.SGD(generator.parameters(), lr=0.05)
d_opt = torch.optim.SGD(critic.parameters(), lr=0.05)


def losses(real, z):
    fake = generator(z)
    d_loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    return d_loss, F.softplus(-critic(fake)).mean()


def update(d_loss, g_loss):
    d_loss.backward()
    d_opt.step()
    g_loss.backward()
    g_opt.step()


for step in range(4):
    g_opt.zero_grad()
    d_opt.zero_grad()
    update(*losses(torch.randn(8, 4), torch.randn(8, 3)))
