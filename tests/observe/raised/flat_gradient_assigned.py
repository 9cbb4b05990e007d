import torch, torch.nn as nn
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def set_flat_grad(net, flat):
    i = 0
    for p in net.parameters():  # made
        n = p.numel()
        p.grad = flat[i:i + n]  # raises AFT505: p
        i += n
set_flat_grad(net, torch.randn(10))
opt.step()
