import torch
from torch import nn

torch.manual_seed(51)
enc = nn.Sequential(nn.Linear(8, 12), nn.ReLU(), nn.Linear(12, 2))
dec = nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 8))
opt_enc = torch.optim.Adam(enc.parameters(), lr=1e-2)
opt_dec = torch.optim.Adam(dec.parameters(), lr=1e-2)
basis = torch.randn(2, 8)


def batch(n=24):
    return torch.randn(n, 2) @ basis


def update(x):
    opt_enc.zero_grad()
    opt_dec.zero_grad()
    loss = (dec(enc(x)) - x).square().mean()
    loss.backward()
    opt_enc.step()
    opt_dec.step()
    return loss.item()


history = [update(batch()) for _ in range(25)]
print("first", round(history[0], 4), "last", round(history[-1], 4))
