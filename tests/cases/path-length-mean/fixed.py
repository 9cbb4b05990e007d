import math

import torch
from torch import autograd, nn, optim

torch.manual_seed(19)


class Generator(nn.Module):
    def __init__(self, z=4, d=9):
        super().__init__()
        self.style = nn.Sequential(nn.Linear(z, 8), nn.LeakyReLU(0.2))
        self.synth = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, d))

    def forward(self, z):
        w = self.style(z)
        return self.synth(w), w


def g_path_regularize(fake, latents, mean_path_length, decay=0.1):
    noise = torch.randn_like(fake) / math.sqrt(fake.shape[1])
    grad, = autograd.grad((fake * noise).sum(), latents, create_graph=True)
    path_lengths = torch.sqrt(grad.pow(2).sum(1))
    path_mean = mean_path_length + decay * (path_lengths.mean() - mean_path_length)
    path_penalty = (path_lengths - path_mean).pow(2).mean()
    return path_penalty, path_mean.detach(), path_lengths


def train(g, d, rounds=4):
    g_optim = optim.Adam(g.parameters(), lr=1e-3)
    d_optim = optim.Adam(d.parameters(), lr=1e-3)
    mean_path_length = 0
    for i in range(rounds):
        fake, _ = g(torch.randn(6, 4))
        d_loss = nn.functional.softplus(d(fake.detach())).mean() + nn.functional.softplus(-d(torch.randn(6, 9))).mean()
        d_optim.zero_grad()
        d_loss.backward()
        d_optim.step()

        g_loss = nn.functional.softplus(-d(g(torch.randn(6, 4))[0])).mean()
        g_optim.zero_grad()
        g_loss.backward()
        g_optim.step()

        if i % 2 == 0:
            fake, latents = g(torch.randn(3, 4))
            path_loss, mean_path_length, path_lengths = g_path_regularize(fake, latents, mean_path_length)
            g_optim.zero_grad()
            (2 * path_loss).backward()
            g_optim.step()
        print(i, d_loss.item(), g_loss.item())


train(Generator(), nn.Sequential(nn.Linear(9, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1)))
