import torch
from torch import nn

torch.manual_seed(54)
EVERY = 3


class Accumulator:
    def __init__(self, net, lr):
        self.net = net
        self.opt = torch.optim.AdamW(net.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
        self.pending, self.average = 0, None

    def add(self, loss):
        self.scaler.scale(loss / EVERY).backward()
        value = loss.item()
        self.average = value if self.average is None else 0.9 * self.average + 0.1 * value
        self.pending += 1
        if self.pending == EVERY:
            self.flush()

    def flush(self):
        if not self.pending:
            return
        self.scaler.unscale_(self.opt)
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad(set_to_none=True)
        self.pending = 0


net = nn.Sequential(nn.Linear(5, 12), nn.GELU(), nn.Linear(12, 2))
acc = Accumulator(net, 1e-3)
for epoch in range(2):
    for _ in range(7):
        x = torch.randn(8, 5)
        acc.add(nn.functional.cross_entropy(net(x), (x.sum(1) > 0).long()))
    acc.flush()
    print(epoch, round(acc.average, 4))
