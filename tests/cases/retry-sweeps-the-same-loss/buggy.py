import torch
from torch import nn

torch.manual_seed(7)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def safe_step(loss, tries=2):
    for k in range(tries):
        try:
            loss.backward()
            g = sum(p.grad.norm() for p in net.parameters())
            if not torch.isfinite(g) or k == 0:
                raise FloatingPointError("retry")
            opt.step()
            return True
        except FloatingPointError:
            opt.zero_grad()
    return False


for _ in range(2):
    safe_step(net(torch.randn(4, 3)).exp().mean())
