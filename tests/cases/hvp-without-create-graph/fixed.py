import torch
from torch import nn

torch.manual_seed(36)


class CG:
    def __init__(self, model, damping=0.1):
        self.model, self.damping = model, damping

    def hvp(self, loss, v):
        params = list(self.model.parameters())
        grads = torch.autograd.grad(loss, params, create_graph=True)
        flat = torch.cat([g.reshape(-1) for g in grads])
        gv = (flat * v).sum()
        hv = torch.autograd.grad(gv, params)
        return torch.cat([h.reshape(-1) for h in hv]) + self.damping * v


model = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
cg = CG(model)
n = sum(p.numel() for p in model.parameters())
for i in range(2):
    loss = model(torch.randn(10, 3)).pow(2).mean()
    print(cg.hvp(loss, torch.randn(n)).norm().item())
