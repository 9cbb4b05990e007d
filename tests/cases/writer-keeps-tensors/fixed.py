import torch
from summary import Writer
from torch import nn

torch.manual_seed(16)
net = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
writer = Writer(flush_every=1000)
for step in range(30):
    x = torch.randn(8, 4)
    loss = nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long())
    opt.zero_grad()
    loss.backward()
    opt.step()
    writer.add("train/loss", loss.item(), step)
    writer.add("train/lr", opt.param_groups[0]["lr"], step)
print(writer.summary())
