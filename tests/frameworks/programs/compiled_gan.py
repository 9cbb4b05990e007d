# needs: torch
# finds: AFT105 fake detach_input
import torch
from torch import nn

torch.manual_seed(0)
netG = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4))
netD = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optG, optD = torch.optim.Adam(netG.parameters(), 1e-3), torch.optim.Adam(netD.parameters(), 1e-3)
G, D = torch.compile(netG, backend="aot_eager"), torch.compile(netD, backend="aot_eager")
bce = nn.functional.binary_cross_entropy_with_logits
for step in range(3):
    fake = G(torch.randn(6, 3))  # built
    real_logits, fake_logits = D(torch.randn(6, 4)), D(fake)  # right: real_logits, fake_logits = D(torch.randn(6, 4)), D(fake.detach())
    d_loss = bce(real_logits, torch.ones(6, 1)) + bce(fake_logits, torch.zeros(6, 1))
    optD.zero_grad()
    d_loss.backward()  # freed
    optD.step()
    g_loss = bce(D(fake), torch.ones(6, 1))
    optG.zero_grad()
    g_loss.backward()  # reused
    optG.step()
print(round(g_loss.item(), 5))
