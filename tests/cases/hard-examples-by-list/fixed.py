import torch
from torch import nn

torch.manual_seed(98)


class Miner:
    def __init__(self, keep):
        self.keep = keep

    def __call__(self, per_sample):
        ranked = per_sample.sort(descending=True).values
        hardest = ranked[: int(self.keep * len(ranked))]
        return hardest.mean()


reducers = {"warmup": torch.mean, "mining": Miner(keep=0.25)}
net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for phase in ("warmup", "mining"):
    reduce = reducers[phase]
    for _ in range(4):
        x = torch.randn(24, 5)
        y = x[:, :3].abs().argmax(1)
        per_sample = nn.functional.cross_entropy(net(x), y, reduction="none")
        loss = reduce(per_sample)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(phase, round(loss.item(), 4))
