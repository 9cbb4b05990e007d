import collections
import random
from dataclasses import dataclass

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(27)
random.seed(27)


@dataclass
class Transition:
    obs: torch.Tensor
    action: torch.Tensor
    reward: float
    log_prob: torch.Tensor


class Replay:
    def __init__(self, size):
        self.memory = collections.deque(maxlen=size)

    def push(self, *fields):
        self.memory.append(Transition(*fields))

    def draw(self, n):
        return random.sample(self.memory, min(n, len(self.memory)))


class Bandit(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 4))

    def dist(self, obs):
        return Categorical(logits=self.net(obs))


def surrogate(policy, t, clip=0.2):
    ratio = (policy.dist(t.obs).log_prob(t.action) - t.log_prob).exp()
    return -torch.min(ratio * t.reward, ratio.clamp(1 - clip, 1 + clip) * t.reward)


policy, replay = Bandit(), Replay(30)
opt = torch.optim.Adam(policy.parameters(), lr=2e-3)
for step in range(8):
    obs = torch.randn(3)
    dist = policy.dist(obs)
    action = dist.sample()
    replay.push(obs, action, float(action == obs.argmax()), dist.log_prob(action))
    loss = torch.stack([surrogate(policy, t) for t in replay.draw(4)]).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 4))
