import torch
from torch import nn

torch.manual_seed(2)


def mlp(*sizes):
    mods = []
    for a, b in zip(sizes, sizes[1:]):
        mods += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*mods[:-1])


def gradient_penalty(critic, real, fake):
    mix = torch.rand(len(real), 1)
    point = (mix * real + (1 - mix) * fake).detach().requires_grad_()
    slope, = torch.autograd.grad(critic(point).sum(), point, create_graph=True)
    return (slope.norm(dim=1) - 1).square().mean()


class WGAN:
    def __init__(self, z=3, x=2, n_critic=3):
        self.G, self.C = mlp(z, 24, x), mlp(x, 24, 24, 1)
        self.optG = torch.optim.Adam(self.G.parameters(), lr=1e-4, betas=(0.0, 0.9))
        self.optC = torch.optim.Adam(self.C.parameters(), lr=1e-4, betas=(0.0, 0.9))
        self.z, self.n_critic = z, n_critic

    def critic_phase(self, real):
        fake = self.G(torch.randn(len(real), self.z))
        for _ in range(self.n_critic):
            gap = self.C(fake.detach()).mean() - self.C(real).mean()
            loss = gap + 10 * gradient_penalty(self.C, real, fake)
            self.optC.zero_grad()
            loss.backward()
            self.optC.step()
        return -gap.item()

    def generator_phase(self, n):
        loss = -self.C(self.G(torch.randn(n, self.z))).mean()
        self.optG.zero_grad()
        loss.backward()
        self.optG.step()


gan = WGAN()
for it in range(3):
    distance = gan.critic_phase(torch.randn(16, 2) * 0.3 + 1)
    gan.generator_phase(16)
    print(it, round(distance, 4))
