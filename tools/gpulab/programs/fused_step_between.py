# finds: AFT203
"""A fused step between the forward pass and its backward: torch raises nothing, the gradients are wrong."""

import torch
from torch import nn

torch.manual_seed(0)
actor, critic = nn.Linear(8, 8).cuda(), nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).cuda()
learn_actor = torch.optim.Adam(actor.parameters(), lr=1e-2, fused=True)
learn_critic = torch.optim.Adam(critic.parameters(), lr=1e-2, fused=True)
for _ in range(6):
    state = torch.randn(32, 8, device="cuda")
    action = actor(state)
    value = critic(action)
    critic_loss = (critic(action.detach()) - 1).pow(2).mean()
    actor_loss = -value.mean()
    learn_critic.zero_grad()
    critic_loss.backward()
    learn_critic.step()
    learn_actor.zero_grad()
    actor_loss.backward()
    learn_actor.step()
print("done")
