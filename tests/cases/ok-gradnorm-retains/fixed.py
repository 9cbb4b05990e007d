import torch
from torch import nn

torch.manual_seed(28)
torso = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
heads = nn.ModuleDict({"x": nn.Linear(16, 1), "y": nn.Linear(16, 1)})
opt = torch.optim.SGD([*torso.parameters(), *heads.parameters()], lr=0.05)


def conflict(grads):
    """Project away what two gradients disagree on."""
    a, b = grads
    dot = (a * b).sum()
    if dot < 0:
        a, b = a - dot / b.square().sum() * b, b - dot / a.square().sum() * a
    return a + b


for step in range(4):
    data = torch.randn(20, 6)
    z = torso(data)
    losses = {name: (head(z).squeeze(-1) - data[:, i]).square().mean() for i, (name, head) in enumerate(heads.items())}
    shared = list(torso.parameters())
    rows = []
    for loss in losses.values():
        grads = torch.autograd.grad(loss, shared, retain_graph=True)
        rows.append(torch.cat([g.flatten() for g in grads]))
    opt.zero_grad()
    sum(losses.values()).backward()
    flat = conflict(rows)
    for p in shared:
        p.grad, flat = flat[:p.numel()].view_as(p).clone(), flat[p.numel():]
    opt.step()
    print(step, {k: round(v.item(), 4) for k, v in losses.items()})
