"""Two networks, detached as they should be; prints every loss in full."""

import torch
from torch import nn

torch.manual_seed(1)
generator = nn.Sequential(nn.Linear(3, 8), nn.ReLU(True), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(8, 1))
optimizers = [torch.optim.Adam(net.parameters(), lr=1e-2) for net in (generator, critic)]
for step in range(6):
    fake = generator(torch.randn(5, 3))
    optimizers[1].zero_grad()
    loss = critic(fake.detach()).mean() - critic(torch.randn(5, 2)).mean()
    loss.backward()
    optimizers[1].step()
    optimizers[0].zero_grad()
    (-critic(fake)).mean().backward()
    optimizers[0].step()
    print(step, loss.item().hex())
parameters = [*generator.parameters(), *critic.parameters()]
