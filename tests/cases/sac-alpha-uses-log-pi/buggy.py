import torch
import torch.nn as nn
from torch.distributions import Normal

torch.manual_seed(16)
OBS, ACT = 4, 2


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.mean, self.log_std = nn.Linear(OBS, 16), nn.Linear(16, ACT), nn.Linear(16, ACT)

    def sample(self, state):
        x = torch.relu(self.body(state))
        normal = Normal(self.mean(x), self.log_std(x).clamp(-5, 2).exp())
        x_t = normal.rsample()
        y = torch.tanh(x_t)
        log_prob = normal.log_prob(x_t) - torch.log(1 - y.pow(2) + 1e-6)
        return y, log_prob.sum(1, keepdim=True)


class SAC:
    def __init__(self):
        self.policy = Policy()
        self.critic = nn.Sequential(nn.Linear(OBS + ACT, 16), nn.ReLU(), nn.Linear(16, 1))
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.policy_optim = torch.optim.Adam(self.policy.parameters(), lr=3e-3)
        self.critic_optim = torch.optim.Adam(self.critic.parameters(), lr=3e-3)
        self.alpha_optim = torch.optim.Adam([self.log_alpha], lr=3e-3)
        self.target_entropy = -ACT

    def update_parameters(self, batch):
        state, action, reward, nxt = batch
        with torch.no_grad():
            a2, lp2 = self.policy.sample(nxt)
            target = reward + 0.99 * (self.critic(torch.cat([nxt, a2], 1)) - self.log_alpha.exp() * lp2)
        qf_loss = nn.functional.mse_loss(self.critic(torch.cat([state, action], 1)), target)
        self.critic_optim.zero_grad()
        qf_loss.backward()
        self.critic_optim.step()

        pi, log_pi = self.policy.sample(state)
        policy_loss = (self.log_alpha.exp().detach() * log_pi - self.critic(torch.cat([state, pi], 1))).mean()
        self.policy_optim.zero_grad()
        policy_loss.backward()
        self.policy_optim.step()

        alpha_loss = -(self.log_alpha * (log_pi + self.target_entropy)).mean()
        self.alpha_optim.zero_grad()
        alpha_loss.backward()
        self.alpha_optim.step()
        return qf_loss.item(), policy_loss.item(), alpha_loss.item()


agent = SAC()
for updates in range(3):
    b = 8
    print(agent.update_parameters((torch.randn(b, OBS), torch.randn(b, ACT), torch.randn(b, 1), torch.randn(b, OBS))))
