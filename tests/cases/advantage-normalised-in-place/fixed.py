import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(53)


class Proposal(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.log_sigma = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(3))

    def log_prob(self, z):
        return Normal(self.mu, self.log_sigma.exp()).log_prob(z).sum(-1)


def log_target(z):
    return -0.5 * ((z - 1.5) ** 2).sum(-1)


def normalise(weights, eps=1e-6):
    weights = weights - weights.min()
    weights = weights / (weights.sum() + eps)
    return weights


def objective(q, samples):
    ratio = torch.exp(log_target(samples) - q.log_prob(samples))
    weights = normalise(ratio)
    return -(weights * q.log_prob(samples)).sum()


q = Proposal()
opt = torch.optim.Adam(q.parameters(), lr=0.05)
for it in range(5):
    with torch.no_grad():
        samples = Normal(q.mu, q.log_sigma.exp()).sample((64,))
    loss = objective(q, samples)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, round(loss.item(), 4), [round(v, 2) for v in q.mu.tolist()])
