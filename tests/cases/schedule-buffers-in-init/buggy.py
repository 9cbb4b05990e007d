import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(109)


class Denoiser(nn.Module):
    def __init__(self, dim, steps):
        super().__init__()
        self.time = nn.Embedding(steps, 16)
        self.inp, self.mid, self.out = nn.Linear(dim, 32), nn.Linear(48, 32), nn.Linear(32, dim)

    def forward(self, x, t):
        h = F.silu(self.inp(x))
        return self.out(F.silu(self.mid(torch.cat([h, self.time(t)], dim=-1))))


class GaussianDiffusion(nn.Module):
    def __init__(self, dim, steps=20):
        super().__init__()
        self.steps, self.model = steps, Denoiser(dim, steps)
        self.beta_logits = nn.Parameter(torch.linspace(-6, -2, steps))
        betas = torch.sigmoid(self.beta_logits)
        alphas_cumprod = torch.cumprod(1.0 - betas, dim=0)
        self.register_buffer("sqrt_ac", torch.sqrt(alphas_cumprod))
        self.register_buffer("sqrt_1mac", torch.sqrt(1.0 - alphas_cumprod))

    def extract(self, values, t, shape):
        return values.gather(0, t).view(-1, *([1] * (len(shape) - 1)))

    def q_sample(self, x0, t, noise):
        return self.extract(self.sqrt_ac, t, x0.shape) * x0 + self.extract(self.sqrt_1mac, t, x0.shape) * noise

    def forward(self, x0):
        t = torch.randint(0, self.steps, (x0.size(0),))
        noise = torch.randn_like(x0)
        return F.mse_loss(self.model(self.q_sample(x0, t, noise), t), noise)


class Trainer:
    def __init__(self, diffusion, loader):
        self.diffusion, self.loader = diffusion, loader
        self.opt = torch.optim.Adam(diffusion.parameters(), lr=1e-3)

    def train(self, epochs):
        for epoch in range(epochs):
            for x in self.loader:
                loss = self.diffusion(x)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            print(epoch, round(loss.item(), 5))


Trainer(GaussianDiffusion(4), [torch.randn(16, 4) for _ in range(3)]).train(2)
