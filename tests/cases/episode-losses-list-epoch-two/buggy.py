import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(71)


class Pendulum:
    def reset(self):
        self.angle, self.speed = torch.rand(()).item() - 0.5, 0.0
        return self.obs()

    def obs(self):
        return torch.tensor([self.angle, self.speed])

    def step(self, torque):
        self.speed += 0.1 * (self.angle + float(torque))
        self.angle += 0.1 * self.speed
        return self.obs(), -abs(self.angle), abs(self.angle) > 1.0


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1))
        self.log_std = nn.Parameter(torch.zeros(1))
        self.losses = []

    def act(self, obs):
        return Normal(self.body(obs), self.log_std.exp())

    def run(self, env, limit=15):
        obs, done, t = env.reset(), False, 0
        while not done and t < limit:
            dist = self.act(obs)
            torque = dist.sample()
            obs, reward, done = env.step(torque)
            self.losses.append(-dist.log_prob(torque).sum() * (reward + 0.5))
            t += 1
        return t


agent, env = Agent(), Pendulum()
opt = torch.optim.Adam(agent.parameters(), lr=5e-3)
for episode in range(3):
    steps = agent.run(env)
    loss = torch.stack(agent.losses).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("episode", episode, "steps", steps, round(loss.item(), 4))
