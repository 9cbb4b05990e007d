import torch
from torch import nn

torch.manual_seed(95)
body, heads = nn.Linear(3, 8), nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])
weights = nn.Parameter(torch.ones(2))
opt = torch.optim.Adam([*body.parameters(), *heads.parameters()], lr=0.01)
weight_opt = torch.optim.Adam([weights], lr=0.01)
for x in torch.randn(15, 6, 3):
    features = body(x).relu()
    losses = torch.stack([head(features).square().mean() for head in heads])
    opt.zero_grad()
    (weights.detach() * losses).sum().backward(retain_graph=True)
    norms = [torch.autograd.grad(loss, body.weight, retain_graph=True)[0].norm() for loss in losses]
    balance = (weights * torch.stack(norms)).var()
    weight_opt.zero_grad()
    balance.backward(inputs=[weights])
    weight_opt.step()
    opt.step()
print("weights", len(weights))
