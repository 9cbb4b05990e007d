import torch
import torch.nn as nn
from buffer_fixed import RolloutBuffer

torch.manual_seed(29)


class ActorCritic(nn.Module):
    def __init__(self, obs, act):
        super().__init__()
        self.mu = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, act))
        self.log_std = nn.Parameter(torch.zeros(act))
        self.v = nn.Sequential(nn.Linear(obs, 32), nn.Tanh(), nn.Linear(32, 1))

    def dist(self, obs):
        return torch.distributions.Normal(self.mu(obs), self.log_std.exp())

    def step(self, obs):
        pi = self.dist(obs)
        a = pi.sample()
        return a, pi.log_prob(a).sum(-1), self.v(obs).squeeze(-1)

    def evaluate(self, obs, act):
        pi = self.dist(obs)
        return pi.log_prob(act).sum(-1), pi.entropy().sum(-1), self.v(obs).squeeze(-1)


class PPO:
    def __init__(self, ac, clip=0.2, epochs=3):
        self.ac, self.clip, self.epochs = ac, clip, epochs
        self.optim = torch.optim.Adam(ac.parameters(), lr=3e-4)

    def loss(self, batch):
        logp, entropy, value = self.ac.evaluate(batch.obs, batch.act)
        ratio = torch.exp(logp - batch.logp)
        adv = (batch.adv - batch.adv.mean()) / (batch.adv.std() + 1e-8)
        surr = torch.min(ratio * adv, torch.clamp(ratio, 1 - self.clip, 1 + self.clip) * adv)
        return -surr.mean() + 0.5 * (value - batch.ret).pow(2).mean() - 0.01 * entropy.mean()

    def update(self, buffer):
        for _ in range(self.epochs):
            for batch in buffer.minibatches(8):
                loss = self.loss(batch)
                self.optim.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.ac.parameters(), 0.5)
                self.optim.step()
        return loss.item()


def collect(ac, buffer, n):
    obs = torch.randn(3)
    for _ in range(n):
        act, logp, value = ac.step(obs)
        nxt = 0.9 * obs + 0.1 * torch.randn(3)
        buffer.store(obs, act, logp, value, -(obs ** 2).sum() - (act ** 2).sum())
        obs = nxt


ac = ActorCritic(3, 2)
ppo = PPO(ac)
for it in range(3):
    buffer = RolloutBuffer()
    collect(ac, buffer, 16)
    buffer.finish()
    print(it, round(ppo.update(buffer), 5))
