import torch
from networks import Actor, Critic
from torch.nn import functional as F

torch.manual_seed(35)


class DDPG:
    gamma = 0.95

    def __init__(self):
        self.actor, self.critic = Actor(4, 2), Critic(4, 2)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=1e-3)

    def update(self, s, a, r, s2):
        q_pi = self.critic(s, self.actor(s))
        actor_loss = -q_pi.mean()
        with torch.no_grad():
            target = r + self.gamma * self.critic(s2, self.actor(s2))
        critic_loss = F.smooth_l1_loss(self.critic(s, a), target)

        self.critic_opt.zero_grad(set_to_none=True)
        critic_loss.backward()
        self.critic_opt.step()

        self.actor_opt.zero_grad(set_to_none=True)
        actor_loss.backward()
        self.actor_opt.step()
        return critic_loss.item(), actor_loss.item()


agent = DDPG()
for k in range(3):
    s = torch.randn(16, 4)
    a = torch.rand(16, 2) * 2 - 1
    critic, actor = agent.update(s, a, s[:, :1], s + 0.1 * torch.randn(16, 4))
    print(k, round(critic, 4), round(actor, 4))
