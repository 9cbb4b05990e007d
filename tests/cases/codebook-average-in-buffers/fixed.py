import torch
from torch import nn
import torch.nn.functional as F

from quantizer_fixed import AffineCodebook

torch.manual_seed(201)


class VQAutoencoder(nn.Module):
    def __init__(self, width=6, dim=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, 12), nn.ReLU(), nn.Linear(12, dim))
        self.quantizer = AffineCodebook(8, dim)
        self.decoder = nn.Linear(dim, width)

    def forward(self, x):
        z = self.encoder(x)
        code = self.quantizer(z)
        commit = F.mse_loss(z, code.detach()) + F.mse_loss(code, z.detach())
        return self.decoder(z + (code - z).detach()), commit


model = VQAutoencoder()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(5):
    x = torch.randn(16, 6)
    out, commit = model(x)
    loss = F.l1_loss(out, x) + 0.25 * commit
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, f"{loss.item():.5f}")
