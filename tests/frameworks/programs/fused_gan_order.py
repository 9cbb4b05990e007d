# needs: torch
# light
# finds: AFT203 D[2].weight move_step
import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 4))
D = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-2, fused=True)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-2, fused=True)
bce = nn.functional.binary_cross_entropy_with_logits
for step in range(5):
    real, fake = torch.randn(6, 4), G(torch.randn(6, 3))
    g_loss = bce(D(fake), torch.ones(6, 1))
    d_loss = bce(D(real), torch.ones(6, 1)) + bce(D(fake.detach()), torch.zeros(6, 1))
    opt_d.zero_grad()
    d_loss.backward()
    opt_d.step()  # written  # right: pass
    opt_g.zero_grad()
    g_loss.backward(inputs=list(G.parameters()))  # built freed
    opt_g.step()  # right: opt_g.step(); opt_d.step()
print(round(g_loss.item(), 5), round(d_loss.item(), 5))
