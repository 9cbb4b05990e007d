# needs: torch
# finds: AFT109 near combine_losses
import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-2)


@torch.compile(backend="aot_eager")
def losses(x):
    z = encoder(x)
    return z[:, :2].pow(2).mean(), (z[:, 2:] - 1).abs().mean()


for step in range(5):
    small, near = losses(torch.randn(4, 6))  # built
    optimizer.zero_grad()
    small.backward()  # freed  # right: (small + near).backward()
    near.backward()  # reused  # right: pass
    optimizer.step()
print(round(small.item(), 5), round(near.item(), 5))
