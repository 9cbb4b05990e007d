import torch
from torch import nn
torch.manual_seed(0)
enc, dec, cls = nn.Linear(6, 3), nn.Linear(3, 6), nn.Linear(3, 2)
opt_ae = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
opt_c = torch.optim.Adam([*enc.parameters(), *cls.parameters()])
for x in torch.randn(4, 8, 6):
    z = torch.tanh(enc(x))
    rec = (dec(z) - x).pow(2).mean()
    opt_ae.zero_grad()
    rec.backward()
    opt_ae.step()
    opt_c.zero_grad()
    z = torch.tanh(enc(x))
    ce = nn.functional.cross_entropy(cls(z), x.argmax(1) % 2)
    ce.backward()
    opt_c.step()
