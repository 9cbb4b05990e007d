import torch
from torch import nn

torch.manual_seed(79)


class Walk:
    """Random walk on seven states; reward at the right end."""

    def reset(self):
        self.at = 3
        return self.obs()

    def obs(self):
        return torch.eye(7)[self.at]

    def step(self):
        self.at += 1 if torch.rand(()) < 0.5 else -1
        done = self.at in (0, 6)
        return self.obs(), float(self.at == 6), done


critic = nn.Sequential(nn.Linear(7, 12), nn.Tanh(), nn.Linear(12, 1))
opt = torch.optim.SGD(critic.parameters(), lr=0.1)
env, errors = Walk(), []
for episode in range(3):
    obs, done = env.reset(), False
    value = critic(obs)
    while not done:
        nxt, reward, done = env.step()
        next_value = critic(nxt)
        target = reward + 0.95 * next_value * (not done)
        delta = (target - value).square().mean()
        opt.zero_grad()
        delta.backward()
        opt.step()
        errors.append(delta.item())
        value = next_value
print("mean error", round(sum(errors) / len(errors), 4))
