import torch
from torch import nn
from torch.distributions import Normal, TransformedDistribution
from torch.distributions import constraints
from torch.distributions.transforms import Transform

torch.manual_seed(83)


class LearnedAffine(Transform):
    domain, codomain, bijective, sign = constraints.real, constraints.real, True, +1

    def __init__(self, shift, log_scale, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.shift, self.log_scale = shift, log_scale

    def _call(self, x):
        return x * self.log_scale.exp() + self.shift

    def _inverse(self, y):
        return (y - self.shift) * (-self.log_scale).exp()

    def log_abs_det_jacobian(self, x, y):
        return self.log_scale.expand_as(x)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift, self.log_scale = nn.Parameter(torch.zeros(1)), nn.Parameter(torch.zeros(1))
        self.affine = LearnedAffine(self.shift, self.log_scale, cache_size=1)

    def forward(self):
        base = Normal(torch.zeros(1), torch.ones(1))
        return TransformedDistribution(base, [self.affine])


data = 2.0 + 0.5 * torch.randn(200)
flow = Flow()
opt = torch.optim.Adam(flow.parameters(), lr=0.05)
for step in range(5):
    nll = -flow().log_prob(data).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    print(step, round(nll.item(), 4))
