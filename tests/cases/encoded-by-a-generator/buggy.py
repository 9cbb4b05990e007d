import torch
from torch import nn

torch.manual_seed(7)
enc, dec = nn.Linear(6, 3), nn.Linear(3, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])


def encoded(xs, size):
    z = torch.tanh(enc(xs))
    for i in range(0, len(xs), size):
        yield z[i : i + size], xs[i : i + size]


xs = torch.randn(12, 6)
for epoch in range(2):
    for z, x in encoded(xs, 4):
        opt.zero_grad()
        (dec(z) - x).pow(2).mean().backward()
        opt.step()
