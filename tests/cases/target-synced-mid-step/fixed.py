import copy

import torch
from torch import nn

torch.manual_seed(97)


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.fast = nn.Sequential(nn.Linear(5, 14), nn.ReLU(), nn.Linear(14, 4))
        self.slow = copy.deepcopy(self.fast)
        self.adapter = nn.Linear(5, 5)

    def sync(self):
        self.slow.load_state_dict(self.fast.state_dict())

    def loss(self, x):
        fast, slow = self.fast(x), self.slow(self.adapter(x))
        agreement = -nn.functional.cosine_similarity(fast, slow).mean()
        return agreement + 0.1 * (fast.std(0) - 1).square().mean()


pair = Pair()
opt = torch.optim.Adam([*pair.fast.parameters(), *pair.adapter.parameters()], lr=2e-3)
for step in range(1, 8):
    x = torch.randn(16, 5)
    loss = pair.loss(x)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 3 == 0:
        pair.sync()
    print(step, round(loss.item(), 4))
