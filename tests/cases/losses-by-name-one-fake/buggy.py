import torch
from torch import nn, optim
from torch.nn import functional as F

torch.manual_seed(7)


def mlp(*s):
    return nn.Sequential(*[m for i, o in zip(s, s[1:]) for m in (nn.Linear(i, o), nn.LeakyReLU(0.2))][:-1])


class Game:
    nets = property(lambda self: (self.g, self.d))

    def __init__(self, z=3, x=2):
        self.g, self.d, self.z = mlp(z, 16, x), mlp(x, 16, 1), z
        self.opts = {n: optim.Adam(m.parameters(), 1e-3) for n, m in zip("gd", self.nets)}

    def losses(self, real):
        fake = self.g(torch.randn(len(real), self.z))
        dr, df = self.d(real), self.d(fake)
        return {"d": F.softplus(-dr).mean() + F.softplus(df).mean(), "g": F.softplus(-df).mean()}

    def step(self, real):
        loss = self.losses(real)
        for who in "dg":
            self.opts[who].zero_grad()
            loss[who].backward(retain_graph=who == "d")
            self.opts[who].step()
        return {k: v.item() for k, v in loss.items()}


game = Game()
for _ in range(3):
    print(game.step(torch.randn(8, 2)))
