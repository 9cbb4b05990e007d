import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(12)


class Encoder(nn.Module):
    def __init__(self, d, z):
        super().__init__()
        self.h, self.mu, self.logvar = nn.Linear(d, 32), nn.Linear(32, z), nn.Linear(32, z)

    def forward(self, x):
        h = F.elu(self.h(x))
        return self.mu(h), self.logvar(h)


class VAE(nn.Module):
    def __init__(self, d=10, z=3, beta=0.5):
        super().__init__()
        self.enc = Encoder(d, z)
        self.dec = nn.Sequential(nn.Linear(z, 32), nn.ELU(), nn.Linear(32, d))
        self.beta = beta

    def terms(self, x):
        mu, logvar = self.enc(x)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return {
            "reconstruction": F.mse_loss(self.dec(z), x),
            "kl": -0.5 * self.beta * (1 + logvar - mu ** 2 - logvar.exp()).mean(),
        }


vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)
history = {"reconstruction": [], "kl": []}
for it in range(4):
    x = torch.randn(20, 10)
    optimizer.zero_grad()
    terms = vae.terms(x)
    for name, term in terms.items():
        history[name].append(round(term.item(), 4))
    sum(terms.values()).backward()
    optimizer.step()
print(history)
