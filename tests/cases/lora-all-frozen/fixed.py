import math

import torch
from torch import nn

torch.manual_seed(63)


class LoRALinear(nn.Module):
    def __init__(self, base, r=2):
        super().__init__()
        self.base = base
        self.A = nn.Parameter(torch.randn(r, base.in_features) / math.sqrt(base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))

    def forward(self, x):
        return self.base(x) + x @ self.A.t() @ self.B.t()


def inject(model):
    for name, child in list(model.named_children()):
        if isinstance(child, nn.Linear):
            setattr(model, name, LoRALinear(child))
        else:
            inject(child)
    for n, p in model.named_parameters():
        p.requires_grad = n.endswith((".A", ".B"))
    return model


model = inject(nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 3)))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for i in range(3):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 6)), torch.randint(0, 3, (8,)))
    loss.backward()
    opt.step()
    opt.zero_grad()
    print(i, loss.item())
