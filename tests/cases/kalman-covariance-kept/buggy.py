import dataclasses

import torch
from torch import nn

torch.manual_seed(73)


@dataclasses.dataclass(frozen=True)
class Belief:
    mean: torch.Tensor
    cov: torch.Tensor


class Filter(nn.Module):
    def __init__(self, n=2):
        super().__init__()
        self.A = torch.tensor([[1.0, 0.1], [0.0, 1.0]])
        self.H = torch.tensor([[1.0, 0.0]])
        self.log_q = nn.Parameter(torch.full((n,), -2.0))
        self.log_r = nn.Parameter(torch.zeros(1))
        self.belief = Belief(torch.zeros(n, 1), torch.eye(n))

    def predict(self):
        b = self.belief
        return dataclasses.replace(b, mean=self.A @ b.mean, cov=self.A @ b.cov @ self.A.T + self.log_q.exp().diag())

    def update(self, z):
        prior = self.predict()
        innovation = z - self.H @ prior.mean
        S = self.H @ prior.cov @ self.H.T + self.log_r.exp()
        gain = prior.cov @ self.H.T / S
        self.belief = Belief(prior.mean + gain @ innovation, prior.cov - gain @ self.H @ prior.cov)
        return 0.5 * (innovation.pow(2) / S + S.log()).squeeze()


kf = Filter()
opt = torch.optim.Adam(kf.parameters(), lr=0.05)
truth = torch.cumsum(torch.randn(40) * 0.1, 0)
readings = truth + 0.5 * torch.randn(40)
for window in readings.split(8):
    nll = torch.stack([kf.update(z.view(1, 1)) for z in window]).mean()
    opt.zero_grad()
    nll.backward()
    opt.step()
    print("nll", round(nll.item(), 4))
