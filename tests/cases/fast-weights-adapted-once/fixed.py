import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(32)
net = nn.Sequential(nn.Linear(1, 16), nn.ReLU(), nn.Linear(16, 1))
meta = torch.optim.Adam(net.parameters(), lr=1e-3)


def adapt(weights, x, y, lr=0.01, steps=2):
    for _ in range(steps):
        loss = (functional_call(net, weights, (x,)) - y).pow(2).mean()
        slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        weights = {key: w - lr * g for (key, w), g in zip(weights.items(), slopes)}
    return weights


x, y = torch.randn(5, 1), torch.randn(5, 1)
for epoch in range(4):
    fast = adapt(dict(net.named_parameters()), x, y)
    meta.zero_grad()
    total = 0.0
    for task in range(2):
        qx, qy = torch.randn(5, 1), torch.randn(5, 1)
        total = total + (functional_call(net, fast, (qx,)) - qy).pow(2).mean()
    total.backward()
    meta.step()
    print(epoch, round(total.item(), 4))
