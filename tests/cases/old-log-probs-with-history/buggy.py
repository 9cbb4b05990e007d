import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(7)
pi, vf = nn.Linear(3, 1), nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
po, vo = torch.optim.Adam(pi.parameters()), torch.optim.Adam(vf.parameters())


class Buffer:
    def __init__(self):
        self.rows = []

    def add(self, **kw):
        self.rows.append(kw)

    def get(self, *keys):
        return tuple(torch.stack([r[k] for r in self.rows]) for k in keys)


def rollout(n):
    b = Buffer()
    o = torch.randn(3)
    for _ in range(n):
        d = Normal(pi(o), 1.0)
        a = d.sample()
        b.add(o=o, a=a, lp=d.log_prob(a), v=vf(o), r=-a.abs())
        o = torch.randn(3)
    return b


for it in range(2):
    o, a, old, v, r = rollout(6).get("o", "a", "lp", "v", "r")
    adv = r - v.detach()
    for _ in range(2):
        ratio = torch.exp(Normal(pi(o), 1.0).log_prob(a) - old)
        loss = -(ratio * adv).mean()
        po.zero_grad()
        loss.backward()
        po.step()
    vo.zero_grad()
    (r - v).pow(2).mean().backward()
    vo.step()
