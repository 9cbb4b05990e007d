import torch
from torch import nn


class Cart:
    def __init__(self):
        self.state = {"pos": torch.zeros(1), "vel": torch.zeros(1)}
        self.dt = 0.05
        self.t = 0

    def step(self, force):
        acc = force - 0.1 * self.state["vel"]
        self.state["vel"] = self.state["vel"] + self.dt * acc
        self.state["pos"] = self.state["pos"] + self.dt * self.state["vel"] * self.state["vel"].abs()
        self.t += 1
        return torch.cat([self.state["pos"], self.state["vel"]])


class Controller(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, obs):
        return self.f(obs)


def run_window(env, ctrl, obs, horizon):
    cost = 0
    for _ in range(horizon):
        u = ctrl(obs)
        obs = env.step(u)
        cost = cost + (obs[0] - 1.0) ** 2 + 0.01 * u.pow(2).sum()
    return cost, obs


def train():
    torch.manual_seed(0)
    env, ctrl = Cart(), Controller()
    opt = torch.optim.Adam(ctrl.parameters(), lr=1e-2)
    obs = torch.zeros(2)
    for window in range(8):
        env.state = {key: value.detach() for key, value in env.state.items()}
        cost, obs = run_window(env, ctrl, obs.detach(), horizon=4)
        opt.zero_grad()
        cost.backward()
        opt.step()
        print(window, float(cost))


train()
