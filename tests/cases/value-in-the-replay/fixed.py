import random
from collections import deque, namedtuple

import torch
from torch import nn

torch.manual_seed(7)
T = namedtuple("T", "s a r s2 v")
random.seed(0)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, s):
        return self.net(s).squeeze(-1)


critic = Critic()
opt = torch.optim.Adam(critic.parameters())
buf = deque(maxlen=50)
s = torch.zeros(2)
for t in range(12):
    v = critic(s)
    s2 = s + 0.1 * torch.randn(2)
    buf.append(T(s, 0, -s2.norm().item(), s2, v))
    s = s2
    if len(buf) >= 4 and t % 2:
        batch = random.sample(buf, 3)
        target = torch.stack([b.r + 0.9 * critic(b.s2).detach() for b in batch])
        value = torch.stack([critic(b.s) for b in batch])
        loss = (value - target).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
