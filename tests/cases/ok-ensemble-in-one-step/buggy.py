import torch
from torch import nn

torch.manual_seed(93)
nets = [nn.Linear(3, 1) for _ in range(9)]
opts = [torch.optim.SGD(net.parameters(), lr=0.05) for net in nets]
best = []
for x in torch.randn(12, 6, 3):
    losses = []
    for net, opt in zip(nets, opts):
        loss = (net(x) - x.sum(1, keepdim=True)).square().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss)
    best.append(torch.stack(losses).argmin().item())
print("members", len(set(best)))
