"""In the actor's loss the advantage is a weight, not a path: detached."""

import torch
from torch import nn

torch.manual_seed(0)
actor = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
act = torch.optim.Adam(actor.parameters(), lr=1e-3)
judge = torch.optim.Adam(critic.parameters(), lr=1e-3)

for episode in range(5):
    states = torch.randn(20, 4)
    policy = torch.distributions.Categorical(logits=actor(states))
    actions = policy.sample()
    returns = (actions == (states[:, 0] > 0)).float().flip(0).cumsum(0).flip(0)
    advantage = returns - critic(states).squeeze(-1)

    judge_loss = advantage.pow(2).mean()
    judge.zero_grad()
    judge_loss.backward()
    judge.step()

    actor_loss = -(policy.log_prob(actions) * advantage.detach()).mean()
    act.zero_grad()
    actor_loss.backward()
    act.step()
    print(f"episode {episode} critic {judge_loss.item():.4f} actor {actor_loss.item():.4f}")
