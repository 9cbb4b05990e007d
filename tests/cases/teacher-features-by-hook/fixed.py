import torch
from torch import nn

torch.manual_seed(7)
feats = {}


def grab(name):
    def hook(mod, inp, out):
        feats[name] = out

    return hook


t, s = (
    nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2)),
    nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2)),
)
t[0].register_forward_hook(grab("t"))
s[0].register_forward_hook(grab("s"))
opt = torch.optim.SGD(s.parameters(), lr=0.1)
x = torch.randn(8, 3)
with torch.no_grad():
    t_out = t(x)
for ep in range(3):
    s_out = s(x)
    loss = (s_out - t_out).pow(2).mean() + (feats["s"] - feats["t"]).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
