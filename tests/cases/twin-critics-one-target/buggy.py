import copy
import torch
import torch.nn.functional as F
from torch import nn


def net(i, o):
    return nn.Sequential(nn.Linear(i, 16), nn.ReLU(), nn.Linear(16, o))


class SAC:
    def __init__(self, sdim=3, adim=2):
        self.pi = net(sdim, 2 * adim)
        self.q1, self.q2 = net(sdim + adim, 1), net(sdim + adim, 1)
        self.t1, self.t2 = copy.deepcopy(self.q1), copy.deepcopy(self.q2)
        self.pi_opt = torch.optim.Adam(self.pi.parameters(), 3e-4)
        self.q_opts = [torch.optim.Adam(q.parameters(), 3e-4) for q in (self.q1, self.q2)]
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.a_opt = torch.optim.Adam([self.log_alpha], 3e-4)

    def sample(self, s):
        mu, ls = self.pi(s).chunk(2, -1)
        d = torch.distributions.Normal(mu, ls.clamp(-5, 2).exp())
        u = d.rsample()
        a = torch.tanh(u)
        logp = (d.log_prob(u) - torch.log(1 - a.pow(2) + 1e-6)).sum(-1, keepdim=True)
        return a, logp

    def update(self, s, a, r, s2):
        a2, logp2 = self.sample(s2)
        tq = torch.min(self.t1(torch.cat([s2, a2], -1)), self.t2(torch.cat([s2, a2], -1)))
        y = r + 0.99 * (tq - self.log_alpha.exp() * logp2)
        for q, opt in zip((self.q1, self.q2), self.q_opts):
            loss = F.mse_loss(q(torch.cat([s, a], -1)), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        new_a, logp = self.sample(s)
        q_pi = torch.min(self.q1(torch.cat([s, new_a], -1)), self.q2(torch.cat([s, new_a], -1)))
        pi_loss = (self.log_alpha.exp().detach() * logp - q_pi).mean()
        self.pi_opt.zero_grad()
        pi_loss.backward()
        self.pi_opt.step()
        alpha_loss = -(self.log_alpha * (logp + 2).detach()).mean()
        self.a_opt.zero_grad()
        alpha_loss.backward()
        self.a_opt.step()
        for t, q in ((self.t1, self.q1), (self.t2, self.q2)):
            for tp, p in zip(t.parameters(), q.parameters()):
                tp.data.mul_(0.995).add_(0.005 * p.data)


torch.manual_seed(0)
agent = SAC()
for step in range(5):
    agent.update(torch.randn(8, 3), torch.rand(8, 2), torch.randn(8, 1), torch.randn(8, 3))
