import torch
from torch import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", enabled=False)
for x in torch.randn(4, 16, 4):
    out = net(x)
    l1, l2, l3 = (out[:, i].pow(2).mean() for i in range(3))
    opt.zero_grad(set_to_none=True)
    scaler.scale(l1).backward()
    scaler.scale(l2 * 0.5).backward()
    scaler.scale(l3).backward()
    scaler.step(opt); scaler.update()
