import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(94)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


def loss_of(weights, x, y):
    return (functional_call(net, weights, (x.unsqueeze(0),)) - y).square().mean()


for step in range(12):
    x = torch.randn(16, 4)
    weights = {name: value.detach() for name, value in net.named_parameters()}
    rows = vmap(grad(loss_of), (None, 0, 0))(weights, x, x.sum(1))
    for name, value in net.named_parameters():
        size = rows[name].flatten(1).norm(dim=1).clamp(min=1).view(-1, *[1] * value.dim())
        value.grad = (rows[name] / size).mean(0)
    opt.step()
print("clipped", tuple(size.shape))
