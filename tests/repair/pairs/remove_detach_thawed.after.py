import torch
from torch import nn


def switch(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


G, D = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), nn.Sequential(nn.Linear(2, 4), nn.Tanh())
opt_g, opt_d = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)


def step_g(z):
    switch(D, False)
    opt_g.zero_grad()
    (-D(G(z)).mean()).backward()
    opt_g.step()


def step_d(z, x):
    switch(D, True)
    loss = D(G(z).detach()).mean() - D(x).mean()
    opt_d.zero_grad()
    loss.backward()
    opt_d.step()


for z in torch.randn(4, 5, 3):
    step_g(z)
    step_d(z, torch.randn(5, 2))
