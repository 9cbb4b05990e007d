from typing import NamedTuple

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(101)


class Losses(NamedTuple):
    policy: torch.Tensor
    value: torch.Tensor
    entropy: float


class ActorCritic(nn.Module):
    def __init__(self, obs=4, actions=3):
        super().__init__()
        self.torso = nn.Sequential(nn.Linear(obs, 24), nn.ReLU())
        self.pi, self.v = nn.Linear(24, actions), nn.Linear(24, 1)

    def evaluate(self, obs, action, ret):
        latent = self.torso(obs)
        dist, value = Categorical(logits=self.pi(latent)), self.v(latent).squeeze(-1)
        advantage = (ret - value).detach()
        return Losses(-(dist.log_prob(action) * advantage).mean(), (value - ret).pow(2).mean(), dist.entropy().mean().item())


def rollout(net, n=20):
    obs = torch.randn(n, 4)
    with torch.no_grad():
        action = Categorical(logits=net.pi(net.torso(obs))).sample()
    return obs, action, (obs[:, 0] * (action - 1)).float()


net = ActorCritic()
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
done, updates = False, 0
while not done:
    losses = net.evaluate(*rollout(net))
    opt.zero_grad()
    losses.policy.backward()
    losses.value.backward()
    opt.step()
    updates += 1
    done = updates >= 5 or losses.entropy < 0.1
print("updates", updates, "entropy", round(losses.entropy, 3))
