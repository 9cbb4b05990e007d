import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(8, 12), nn.Linear(12, 8)

    def forward(self, x):
        return torch.tanh(self.up(F.relu(self.down(x))))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 12), nn.LeakyReLU(0.2), nn.Linear(12, 1))

    def forward(self, a, b):
        return self.net(torch.cat([a, b], 1))


class Model:
    def __init__(self):
        self.gen, self.dis = Generator(), Discriminator()
        self.gen_optimizer = torch.optim.Adam(self.gen.parameters(), lr=1e-3)
        self.dis_optimizer = torch.optim.Adam(self.dis.parameters(), lr=1e-3)

    def generator_pass(self, edges, images):
        self.gen_optimizer.zero_grad()
        self.fake_B = self.gen(edges)
        score = self.dis(edges, self.fake_B)
        gen_loss = F.softplus(-score).mean() + 10 * F.l1_loss(self.fake_B, images)
        gen_loss.backward(retain_graph=True)
        self.gen_optimizer.step()
        return gen_loss.item()

    def discriminator_pass(self, edges, images):
        self.dis_optimizer.zero_grad()
        fake = self.dis(edges, self.fake_B)
        real = self.dis(edges, images)
        dis_loss = (F.softplus(fake) + F.softplus(-real)).mean()
        dis_loss.backward()
        self.dis_optimizer.step()
        return dis_loss.item()


model = Model()
for it in range(4):
    images = torch.rand(10, 8)
    edges = (images > 0.5).float()
    print(it, f"{model.generator_pass(edges, images):.5f} {model.discriminator_pass(edges, images):.5f}")
