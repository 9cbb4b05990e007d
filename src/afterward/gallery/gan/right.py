"""To the discriminator a fake is data: detached. The generator's own loss keeps the graph."""

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
discriminator = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
generate = torch.optim.Adam(generator.parameters(), lr=1e-3)
judge = torch.optim.Adam(discriminator.parameters(), lr=1e-3)
adversarial = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)

for step in range(5):
    real = torch.randn(32, 2) * 0.5 + 2
    fake = generator(torch.randn(32, 4))
    judge_loss = adversarial(discriminator(real), ones) + adversarial(discriminator(fake.detach()), zeros)
    judge.zero_grad()
    judge_loss.backward()
    judge.step()

    generate_loss = adversarial(discriminator(fake), ones)
    generate.zero_grad()
    generate_loss.backward()
    generate.step()
    print(f"step {step} discriminator {judge_loss.item():.4f} generator {generate_loss.item():.4f}")
