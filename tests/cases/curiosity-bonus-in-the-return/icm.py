import torch
import torch.nn as nn
import torch.nn.functional as F


class ICM(nn.Module):
    """Intrinsic curiosity: the error of a forward model in feature space."""

    def __init__(self, obs, actions, feat=8):
        super().__init__()
        self.actions = actions
        self.phi = nn.Sequential(nn.Linear(obs, 16), nn.ELU(), nn.Linear(16, feat))
        self.inverse = nn.Linear(2 * feat, actions)
        self.forward_model = nn.Sequential(nn.Linear(feat + actions, 16), nn.ELU(), nn.Linear(16, feat))

    def forward(self, obs, act, nxt):
        f, g = self.phi(obs), self.phi(nxt)
        one_hot = F.one_hot(act, self.actions).float()
        error = (self.forward_model(torch.cat([f, one_hot], -1)) - g.detach()).pow(2).mean(-1)
        inverse = F.cross_entropy(self.inverse(torch.cat([f, g], -1)), act)
        return error, error.mean() + inverse
