import torch
from torch import nn
torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
history = {"loss": [], "norm": []}
total = 0.0
for i, x in enumerate(torch.randn(30, 8, 3)):
    loss = net(x).exp().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total += loss
    history["loss"].append(loss)
    history["norm"].append(net.weight.grad.norm())
print(total / 30)
