import torch
import torch.nn as nn
import torch.nn.functional as F
from icm import ICM

torch.manual_seed(8)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 3))
        self.v = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))


class Trainer:
    def __init__(self, eta=0.5):
        self.net, self.icm, self.eta = ActorCritic(), ICM(4, 3), eta
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)
        self.icm_opt = torch.optim.Adam(self.icm.parameters(), lr=1e-3)

    def rollout(self, n=16):
        obs = torch.randn(n, 4)
        with torch.no_grad():
            act = torch.distributions.Categorical(logits=self.net.pi(obs)).sample()
        return {"obs": obs, "act": act, "next": obs + 0.1 * torch.randn(n, 4), "rew": torch.randn(n)}

    def policy_loss(self, roll, bonus):
        ret = roll["rew"] + self.eta * bonus.detach()
        value = self.net.v(roll["obs"]).squeeze(-1)
        logp = F.log_softmax(self.net.pi(roll["obs"]), -1).gather(1, roll["act"].unsqueeze(1)).squeeze(1)
        adv = (ret - value).detach()
        return {"pi": -(logp * adv).mean(), "v": (ret - value).pow(2).mean()}

    def step(self):
        roll = self.rollout()
        bonus, curiosity = self.icm(roll["obs"], roll["act"], roll["next"])
        losses = self.policy_loss(roll, bonus)
        self.opt.zero_grad()
        sum(losses.values()).backward()
        self.opt.step()
        self.icm_opt.zero_grad()
        curiosity.backward()
        self.icm_opt.step()
        return {**{k: round(v.item(), 5) for k, v in losses.items()}, "icm": round(curiosity.item(), 5)}


trainer = Trainer()
for it in range(4):
    print(it, trainer.step())
