import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(7)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
meta = torch.optim.Adam(net.parameters(), 1e-3)
for it in range(3):
    meta.zero_grad()
    total = 0.0
    for task in range(2):
        fast = dict(net.named_parameters())
        x = torch.randn(5, 1)
        y = x * (task + 1)
        for k in range(2):
            loss = (functional_call(net, fast, (x,)) - y).pow(2).mean()
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {n: p - 0.1 * g for (n, p), g in zip(fast.items(), grads)}
        q = (functional_call(net, fast, (x,)) - y).pow(2).mean()
        q.backward()
        total += q.item()
    meta.step()
