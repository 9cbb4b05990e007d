from collections import defaultdict, deque

import torch
from torch import nn

torch.manual_seed(7)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
logs = defaultdict(list)
recent = deque(maxlen=3)
total = 0.0
best = None
for i in range(8):
    out = net(torch.randn(4, 3))
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    logs["loss"].append(loss.detach())
    logs["out"].append(out.data.mean())
    recent.append(loss)
    total += loss.item()
    best = loss if best is None or loss < best else best
print(total, float(torch.stack(logs["loss"]).mean()), float(best))
