import torch
from collections import defaultdict
from torch import nn


class World:
    def __init__(self):
        self.state = defaultdict(lambda: torch.zeros(1))

    def step(self, force):
        self.state["speed"] = self.state["speed"] + 0.1 * force
        self.state["place"] = self.state["place"] + self.state["speed"].tanh()
        return self.state["place"]


def window(world, control, seen):
    cost = 0
    for _ in range(3):
        seen = world.step(control(seen))
        cost = cost + (seen - 1).pow(2).sum()
    return cost, seen


torch.manual_seed(0)
env, net, v = World(), nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1)), torch.zeros(1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(5):
    v = v.detach()
    env.state["speed"] = env.state["speed"].detach()
    env.state["place"] = env.state["place"].detach()
    cost, v = window(env, net, v)
    opt.zero_grad()
    cost.backward()
    opt.step()
