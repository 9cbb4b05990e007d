import torch
from torch import nn


class Actor(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(obs, 24), nn.ReLU(), nn.Linear(24, act), nn.Tanh())

    def forward(self, s):
        return self.seq(s)


class Critic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.first, self.last = nn.Linear(obs + act, 24), nn.Linear(24, 1)

    def forward(self, s, a):
        return self.last(torch.relu(self.first(torch.cat([s, a], 1))))
