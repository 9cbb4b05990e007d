import torch
from torch import nn


class WorldModel(nn.Module):
    def __init__(self, obs=5, act=2, latent=6):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(obs, 16), nn.ELU(), nn.Linear(16, latent), nn.Tanh())
        self.dynamics = nn.Sequential(nn.Linear(latent + act, 16), nn.ELU(), nn.Linear(16, latent))
        self.reward = nn.Linear(latent, 1)


class Actor(nn.Module):
    def __init__(self, latent=6, act=2):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(latent, 16), nn.ELU(), nn.Linear(16, act))

    def forward(self, z):
        return torch.tanh(self.body(z))
