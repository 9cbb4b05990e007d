"""The second network takes the first one's output as data: detached, it has no graph."""

import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(5, 8), nn.Tanh())
probe = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
encoder_optimizer = torch.optim.SGD(encoder.parameters(), lr=1e-2)
probe_optimizer = torch.optim.SGD(probe.parameters(), lr=1e-2)

for step in range(5):
    inputs = torch.randn(16, 5)
    code = encoder(inputs)
    probe_loss = (probe(code.detach()) - inputs[:, :1]).pow(2).mean()
    probe_optimizer.zero_grad()
    probe_loss.backward()
    probe_optimizer.step()

    encoder_loss = code.pow(2).mean()
    encoder_optimizer.zero_grad()
    encoder_loss.backward()
    encoder_optimizer.step()
    print(f"step {step} losses {probe_loss.item():.4f} and {encoder_loss.item():.4f}")
