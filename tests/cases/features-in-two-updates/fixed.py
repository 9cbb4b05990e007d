import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


class PixelEncoder(nn.Module):
    def __init__(self, feature_dim=10):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv2d(1, 4, 3, stride=2), nn.Conv2d(4, 4, 3)])
        self.fc, self.ln = nn.Linear(16, feature_dim), nn.LayerNorm(feature_dim)

    def forward(self, obs):
        for conv in self.convs:
            obs = torch.relu(conv(obs))
        return torch.tanh(self.ln(self.fc(obs.flatten(1))))


class Critic(nn.Module):
    def __init__(self, feature_dim, act):
        super().__init__()
        self.Q1 = nn.Sequential(nn.Linear(feature_dim + act, 24), nn.ReLU(), nn.Linear(24, 1))
        self.Q2 = nn.Sequential(nn.Linear(feature_dim + act, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, h, a):
        ha = torch.cat([h, a], dim=1)
        return self.Q1(ha), self.Q2(ha)


class SacAeAgent:
    def __init__(self, act=2):
        self.encoder, self.critic = PixelEncoder(), Critic(10, act)
        self.actor = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, act), nn.Tanh())
        self.critic_optimizer = torch.optim.Adam([*self.encoder.parameters(), *self.critic.parameters()], lr=1e-3)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=1e-3)

    def update_critic(self, h, action, target_Q):
        current_Q1, current_Q2 = self.critic(h, action)
        critic_loss = F.mse_loss(current_Q1, target_Q) + F.mse_loss(current_Q2, target_Q)
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        return critic_loss.item()

    def update_actor(self, h):
        actor_Q = torch.min(*self.critic(h, self.actor(h)))
        actor_loss = -actor_Q.mean()
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        return actor_loss.item()

    def update(self, obs, action, reward):
        h = self.encoder(obs)
        return self.update_critic(h, action, reward), self.update_actor(h.detach())


agent = SacAeAgent()
for step in range(4):
    print(step, *(round(v, 5) for v in agent.update(torch.randn(8, 1, 9, 9), torch.rand(8, 2) * 2 - 1, torch.randn(8, 1))))
