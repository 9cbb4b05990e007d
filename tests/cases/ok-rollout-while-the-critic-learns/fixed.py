import torch
from torch import nn

torch.manual_seed(96)
actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
critic_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
for episode in range(4):
    scores, rewards = [], []
    state = torch.randn(3)
    for turn in range(12):
        choice = torch.distributions.Categorical(logits=actor(state))
        action = choice.sample()
        scores.append(choice.log_prob(action))
        rewards.append(float(action == (state[0] > 0)))
        critic_opt.zero_grad()
        (critic(state) - rewards[-1]).square().mean().backward()
        critic_opt.step()
        state = 0.5 * state + torch.randn(3)
    actor_opt.zero_grad()
    (-torch.stack(scores) * (torch.tensor(rewards) - 0.5)).sum().backward()
    actor_opt.step()
print("turns", len(scores))
