import torch
from torch import nn

torch.manual_seed(7)


class RSSM(nn.Module):
    def __init__(self, a=2, h=6):
        super().__init__()
        self.g = nn.GRUCell(a, h)
        self.r = nn.Linear(h, 1)

    def imagine(self, h, policy, n):
        hs, rs = [], []
        for _ in range(n):
            h = self.g(policy(h), h)
            hs.append(h)
            rs.append(self.r(h))
        return torch.stack(hs), torch.stack(rs)


wm, pi, v = RSSM(), nn.Sequential(nn.Linear(6, 2), nn.Tanh()), nn.Linear(6, 1)
ow, op, ov = (torch.optim.Adam(m.parameters(), 1e-3) for m in (wm, pi, v))
for it in range(3):
    h0 = torch.randn(4, 6)
    hs, rs = wm.imagine(h0, pi, 3)
    ret = rs + 0.9 * v(hs)
    op.zero_grad()
    (-ret.mean()).backward()
    op.step()
    ov.zero_grad()
    (v(hs) - ret.detach()).pow(2).mean().backward()
    ov.step()
