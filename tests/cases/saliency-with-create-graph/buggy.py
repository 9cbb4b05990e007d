import torch
from torch import nn

torch.manual_seed(43)


def saliency(net, x, label):
    x = x.clone().requires_grad_()
    score = net(x).gather(1, label[:, None]).sum()
    grad, = torch.autograd.grad(score, x, create_graph=True)
    return grad.detach().abs().mean(0)


net = nn.Sequential(nn.Linear(6, 18), nn.Tanh(), nn.Linear(18, 3))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
maps = []
for step in range(6):
    x = torch.randn(15, 6)
    y = (x[:, 2] > 0).long() + (x[:, 4] > 1).long()
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 2:
        maps.append(saliency(net, x, y))
print("watched", [round(v, 3) for v in torch.stack(maps).mean(0).tolist()])
