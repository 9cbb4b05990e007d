import torch
from torch import nn
from torch.distributions import Independent, Normal, kl_divergence

torch.manual_seed(82)


class Sigma(nn.Module):
    def __init__(self, d, k=3):
        super().__init__()
        self.enc, self.dec = nn.Linear(d, 2 * k), nn.Linear(k, d)
        self.prior_mean, self.prior_log = nn.Parameter(torch.zeros(k)), nn.Parameter(torch.zeros(k))

    @property
    def prior(self):
        return Independent(Normal(self.prior_mean, self.prior_log.exp()), 1)

    def posterior(self, x):
        mean, log = self.enc(x).chunk(2, -1)
        return Independent(Normal(mean, log.exp()), 1)

    def elbo(self, x):
        q = self.posterior(x)
        seen = Normal(self.dec(q.rsample()), 0.5).log_prob(x).sum(-1)
        return (seen - kl_divergence(q, self.prior)).mean()


class Loop:
    def __init__(self, model):
        self.model, self.opt = model, torch.optim.Adam(model.parameters(), lr=5e-3)

    def __call__(self, data, epochs):
        for e in range(epochs):
            for x in data.split(16):
                loss = -self.model.elbo(x)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            print(e, round(loss.item(), 3))


Loop(Sigma(5))(torch.randn(48, 5), epochs=2)
