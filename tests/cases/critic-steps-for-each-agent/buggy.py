import torch
import torch.nn as nn

torch.manual_seed(41)
AGENTS, OBS, ACTIONS = 2, 4, 3


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(AGENTS * (OBS + 1) + 1, 32), nn.Linear(32, ACTIONS)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class COMA:
    def __init__(self, lr=1e-3):
        self.actors = [nn.Sequential(nn.Linear(OBS, 16), nn.Tanh(), nn.Linear(16, ACTIONS), nn.Softmax(-1)) for _ in range(AGENTS)]
        self.critic = Critic()
        self.actor_opts = [torch.optim.Adam(a.parameters(), lr=lr) for a in self.actors]
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=lr)

    def critic_input(self, agent_id, obs, actions):
        ids = torch.full((obs.size(0), 1), float(agent_id))
        return torch.cat([ids, obs.flatten(1), actions.float()], dim=1)

    def train(self, obs, actions, returns):
        probs = [actor(obs[:, i]) for i, actor in enumerate(self.actors)]
        qs = [self.critic(self.critic_input(i, obs, actions)) for i in range(AGENTS)]
        log = []
        for i in range(AGENTS):
            taken = actions[:, i].unsqueeze(1)
            q_taken = qs[i].gather(1, taken).squeeze(1)
            baseline = (probs[i] * qs[i]).sum(1).detach()
            advantage = (q_taken - baseline).detach()
            actor_loss = -(torch.log(probs[i].gather(1, taken).squeeze(1)) * advantage).mean()
            self.actor_opts[i].zero_grad()
            actor_loss.backward()
            self.actor_opts[i].step()

            critic_loss = (returns[:, i] - q_taken).pow(2).mean()
            self.critic_opt.zero_grad()
            critic_loss.backward()
            self.critic_opt.step()
            log.append((round(actor_loss.item(), 5), round(critic_loss.item(), 5)))
        return log


coma = COMA()
for it in range(3):
    obs = torch.randn(12, AGENTS, OBS)
    print(it, coma.train(obs, torch.randint(0, ACTIONS, (12, AGENTS)), torch.randn(12, AGENTS)))
