import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(37)


class Critic(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class PenaltyTracker:
    def __init__(self, weight=10.0):
        self.weight = weight
        self.norms = []

    def __call__(self, critic, real, fake):
        eps = torch.rand(len(real), 1)
        mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
        score = critic(mixed)
        (grad,) = torch.autograd.grad(score.sum(), mixed, create_graph=True)
        norm = grad.norm(2, dim=1)
        self.norms.append(norm.mean().item())
        return self.weight * (norm - 1).pow(2).mean()


class Generator(nn.Module):
    def __init__(self, z=3, d=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(z, 12), nn.ReLU(), nn.Linear(12, d))

    def forward(self, z):
        return self.net(z)


def main(iters=20):
    critic, gen, penalty = Critic(), Generator(), PenaltyTracker()
    opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
    for it in range(iters):
        real = torch.randn(12, 6) + 1
        fake = gen(torch.randn(12, 3)).detach()
        loss_d = critic(fake).mean() - critic(real).mean() + penalty(critic, real, fake)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        if it % 5 == 4:
            loss_g = -critic(gen(torch.randn(12, 3))).mean()
            opt_g.zero_grad()
            loss_g.backward()
            opt_g.step()
    last = torch.tensor(penalty.norms[-5:])
    print("mean gradient norm", round(last.mean().item(), 4))


main()
