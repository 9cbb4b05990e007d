import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(95)


class Branch:
    def __init__(self, name, k, d):
        self.name, self.net = name, nn.Sequential(nn.Linear(k, 16), nn.ReLU(), nn.Linear(16, d))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def loss(self, z, target):
        return (self.net(z) - target).square().mean()

    def learn(self, z, target):
        self.opt.zero_grad()
        loss = self.loss(z, target)
        loss.backward()
        self.opt.step()
        return loss.item()


class Joint:
    def __init__(self, k=3):
        self.encoder = nn.Linear(10, 2 * k)
        self.opt = torch.optim.Adam(self.encoder.parameters(), lr=1e-3)
        self.branches = [Branch("image", k, 6), Branch("sound", k, 4)]

    def step(self, image, sound):
        mean, log = self.encoder(torch.cat([image, sound], 1)).chunk(2, 1)
        z = Normal(mean, log.exp()).rsample()
        self.opt.zero_grad()
        losses = [b.loss(z, t) for b, t in zip(self.branches, (image, sound))]
        for b in self.branches:
            b.opt.zero_grad()
        sum(losses).backward()
        for opt in (self.opt, *(b.opt for b in self.branches)):
            opt.step()
        return [v.item() for v in losses]


joint = Joint()
for k in range(3):
    print(k, [round(v, 4) for v in joint.step(torch.randn(12, 6), torch.randn(12, 4))])
