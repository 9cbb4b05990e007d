import torch
from torch import nn

torch.manual_seed(229)


class Episodes:
    def __init__(self):
        self.rows = []

    def add(self, **row):
        self.rows.append({name: value.detach() for name, value in row.items()})

    def stack(self, name):
        return torch.stack([row[name] for row in self.rows])

    def log_probs(self):
        return self.stack("log_prob")


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 12), nn.Tanh(), nn.Linear(12, 2))

    def forward(self, state):
        return torch.distributions.Categorical(logits=self.net(state))


class Learner:
    def __init__(self):
        self.policy = Policy()
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-2)

    def rollout(self, length=8):
        episodes = Episodes()
        for _ in range(length):
            state = torch.randn(3)
            dist = self.policy(state)
            action = dist.sample()
            reward = (action == (state[0] > 0)).float()
            episodes.add(state=state, action=action, reward=reward, log_prob=dist.log_prob(action))
        return episodes

    def ppo_update(self, episodes):
        old_log_probs = episodes.log_probs()
        new_log_probs = self.policy(episodes.stack("state")).log_prob(episodes.stack("action"))
        advantage = episodes.stack("reward") - 0.5
        ratio = (new_log_probs - old_log_probs).exp()
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


learner = Learner()
for iteration in range(3):
    print(iteration, round(learner.ppo_update(learner.rollout()), 6))
