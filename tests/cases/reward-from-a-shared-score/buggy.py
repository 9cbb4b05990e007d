import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(53)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.log_std = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2)), nn.Parameter(torch.zeros(2))

    def act(self, s):
        dist = Normal(self.mean(s), self.log_std.exp())
        a = dist.sample()
        return a, dist.log_prob(a).sum(-1)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, s, a):
        return self.trunk(torch.cat([s, a], -1))


class GAIL:
    def __init__(self, expert):
        self.policy, self.disc, self.expert = Policy(), Discriminator(), expert
        self.opt_pi = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.opt_d = torch.optim.Adam(self.disc.parameters(), lr=1e-3)
        self.bce = nn.BCEWithLogitsLoss()

    def rollout(self, n):
        s = torch.randn(n, 4)
        a, logp = self.policy.act(s)
        score = self.disc(s, a)
        return {"s": s, "a": a, "logp": logp, "score": score, "reward": -nn.functional.logsigmoid(-score).squeeze(-1)}

    def update_disc(self, roll):
        es, ea = self.expert
        expert_score = self.disc(es, ea)
        loss = self.bce(roll["score"], torch.zeros_like(roll["score"])) + self.bce(expert_score, torch.ones_like(expert_score))
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return loss.item()

    def update_policy(self, roll):
        adv = roll["reward"] - roll["reward"].mean()
        loss = -(roll["logp"] * adv).mean()
        self.opt_pi.zero_grad()
        loss.backward()
        self.opt_pi.step()
        return loss.item()


torch.manual_seed(1)
gail = GAIL((torch.randn(16, 4), torch.randn(16, 2) * 0.1))
for it in range(4):
    roll = gail.rollout(16)
    print(it, round(gail.update_disc(roll), 5), round(gail.update_policy(roll), 5))
