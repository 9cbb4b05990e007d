import torch
from torch import nn
from torch.distributions import Categorical
torch.manual_seed(0)
class AC(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 16), nn.Tanh())
        self.pi, self.v = nn.Linear(16, 2), nn.Linear(16, 1)
    def forward(self, s):
        z = self.body(s)
        return Categorical(logits=self.pi(z)), self.v(z).squeeze(-1)
ac = AC()
opt = torch.optim.Adam(ac.parameters(), 3e-4)
for it in range(3):
    states = torch.randn(32, 4)
    dist, values = ac(states)
    actions = dist.sample()
    old_log_probs = dist.log_prob(actions).detach()
    rewards = torch.randn(32)
    advantages = rewards - values.detach()
    for epoch in range(4):
        new, v = ac(states)
        ratio = (new.log_prob(actions) - old_log_probs).exp()
        surr = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages)
        loss = -surr.mean() + 0.5 * (rewards - v).pow(2).mean() - 0.01 * new.entropy().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
print(round(loss.item(), 4))
