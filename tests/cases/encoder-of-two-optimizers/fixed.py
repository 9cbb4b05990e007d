import torch
import torch.nn as nn
import torch.nn.functional as F


class Enc(nn.Module):
    def __init__(s):
        super().__init__()
        s.f = nn.Sequential(nn.Linear(8, 10), nn.ReLU(), nn.Linear(10, 4))

    def forward(s, x):
        return s.f(x)


enc, dec, clf = Enc(), nn.Sequential(nn.Linear(4, 10), nn.ReLU(), nn.Linear(10, 8)), nn.Linear(4, 2)
opt_ae = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
opt_cl = torch.optim.Adam([*enc.parameters(), *clf.parameters()], lr=1e-3)

for step in range(5):
    x, y = torch.randn(6, 8), torch.randint(0, 2, (6,))
    z = enc(x)
    recon = F.mse_loss(dec(z), x)
    opt_ae.zero_grad()
    recon.backward()
    opt_ae.step()
    z = enc(x)
    cls = F.cross_entropy(clf(z), y)
    opt_cl.zero_grad()
    cls.backward()
    opt_cl.step()
