import collections

import torch
from torch import nn

torch.manual_seed(7)
log = collections.defaultdict(list)


def record(**kw):
    for k, v in kw.items():
        log[k].append(v)


net = nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for e in range(3):
    for i in range(5):
        out = net(torch.randn(4, 3))
        loss = out.pow(2).mean()
        reg = net.weight.abs().sum()
        opt.zero_grad()
        (loss + 1e-3 * reg).backward()
        opt.step()
        record(loss=loss.item(), reg=reg.item(), step=i)
print(sum(log["loss"]))
