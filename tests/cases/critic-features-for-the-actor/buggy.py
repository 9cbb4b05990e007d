import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(99)
OBS, FEAT, ACT = 7, 8, 2


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.ln = nn.Linear(OBS, FEAT), nn.LayerNorm(FEAT)

    def forward(self, obs):
        return torch.tanh(self.ln(self.fc(obs)))


class GaussianPolicy(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.mu, self.log_std = nn.Linear(FEAT, 16), nn.Linear(16, ACT), nn.Linear(16, ACT)

    def forward(self, feat):
        h = F.relu(self.trunk(feat))
        dist = torch.distributions.Normal(self.mu(h), self.log_std(h).clamp(-5, 2).exp())
        raw = dist.rsample()
        action = torch.tanh(raw)
        logp = (dist.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)).sum(1, keepdim=True)
        return action, logp


class QNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1 = nn.Sequential(nn.Linear(FEAT + ACT, 16), nn.ReLU(), nn.Linear(16, 1))
        self.q2 = nn.Sequential(nn.Linear(FEAT + ACT, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, feat, act):
        x = torch.cat([feat, act], 1)
        return self.q1(x), self.q2(x)


class SAC:
    def __init__(self, gamma=0.99, tau=0.01):
        self.encoder, self.critic, self.policy = Encoder(), QNetwork(), GaussianPolicy()
        self.encoder_t, self.critic_t = Encoder(), QNetwork()
        self.encoder_t.load_state_dict(self.encoder.state_dict())
        self.critic_t.load_state_dict(self.critic.state_dict())
        self.gamma, self.tau, self.alpha = gamma, tau, 0.1
        self.critic_optim = torch.optim.Adam([*self.encoder.parameters(), *self.critic.parameters()], lr=3e-4)
        self.policy_optim = torch.optim.Adam(self.policy.parameters(), lr=3e-4)

    def update(self, obs, act, rew, nxt):
        with torch.no_grad():
            nfeat = self.encoder_t(nxt)
            a, logp = self.policy(self.encoder(nxt))
            q1, q2 = self.critic_t(nfeat, a)
            target = rew + self.gamma * (torch.min(q1, q2) - self.alpha * logp)
        feat = self.encoder(obs)
        q1, q2 = self.critic(feat, act)
        q_loss = F.mse_loss(q1, target) + F.mse_loss(q2, target)
        self.critic_optim.zero_grad()
        q_loss.backward()
        self.critic_optim.step()

        pi, logp = self.policy(feat)
        policy_loss = (self.alpha * logp - torch.min(*self.critic(feat, pi))).mean()
        self.policy_optim.zero_grad()
        policy_loss.backward()
        self.policy_optim.step()
        for net, tgt in ((self.encoder, self.encoder_t), (self.critic, self.critic_t)):
            for p, t in zip(net.parameters(), tgt.parameters()):
                t.data.mul_(1 - self.tau).add_(self.tau * p.data)
        return q_loss.item(), policy_loss.item()


agent = SAC()
for step in range(5):
    batch = torch.randn(16, OBS), torch.rand(16, ACT) * 2 - 1, torch.randn(16, 1), torch.randn(16, OBS)
    print(step, "%.5f %.5f" % agent.update(*batch))
