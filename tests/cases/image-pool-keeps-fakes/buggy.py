import collections
import random

import torch
from torch import nn

torch.manual_seed(25)
random.seed(25)


class ImagePool:
    def __init__(self, size):
        self.kept = collections.deque(maxlen=size)

    def query(self, images):
        out = []
        for item in images:
            if len(self.kept) < self.kept.maxlen or random.random() < 0.5:
                self.kept.append(item)
                out.append(item.detach())
            else:
                k = random.randrange(len(self.kept))
                old, self.kept[k] = self.kept[k], item
                out.append(old)
        return torch.stack(out)


def translator():
    return nn.Sequential(nn.Linear(6, 18), nn.ReLU(), nn.Linear(18, 6))


gen_ab, gen_ba = translator(), translator()
disc_b = nn.Sequential(nn.Linear(6, 18), nn.LeakyReLU(0.2), nn.Linear(18, 1))
opt_g = torch.optim.Adam([*gen_ab.parameters(), *gen_ba.parameters()], lr=2e-4)
opt_d = torch.optim.Adam(disc_b.parameters(), lr=2e-4)
pool = ImagePool(10)
for step in range(8):
    real_a, real_b = torch.randn(4, 6), torch.randn(4, 6) + 1
    fake_b = gen_ab(real_a)
    loss_g = (disc_b(fake_b) - 1).square().mean() + (gen_ba(fake_b) - real_a).abs().mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    shown = pool.query(fake_b)
    loss_d = (disc_b(real_b) - 1).square().mean() + disc_b(shown).square().mean()
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()
    print(step, round(loss_g.item(), 4), round(loss_d.item(), 4))
