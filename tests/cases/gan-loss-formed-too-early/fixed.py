import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(18)


def net(i, o, h=16):
    return nn.Sequential(nn.Linear(i, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, o))


class Players(nn.ModuleDict):
    def __init__(self):
        super().__init__({"g": net(3, 2), "d": net(2, 1)})
        self.opts = {k: torch.optim.Adam(m.parameters(), lr=3e-4) for k, m in self.items()}

    def losses(self, real):
        fake = self["g"](torch.randn(len(real), 3))
        ok, bad = torch.ones(len(real), 1), torch.zeros(len(real), 1)
        judge = F.binary_cross_entropy_with_logits
        return {
            "d": judge(self["d"](real), ok) + judge(self["d"](fake.detach()), bad),
            "g": judge(self["d"](fake), ok),
        }

    def step(self, real):
        losses = {}
        for key in ("d", "g"):
            losses[key] = loss = self.losses(real)[key]
            self.opts[key].zero_grad()
            loss.backward()
            self.opts[key].step()
        return {k: round(v.item(), 4) for k, v in losses.items()}


players = Players()
for it in range(3):
    print(it, players.step(torch.randn(8, 2).sign()))
