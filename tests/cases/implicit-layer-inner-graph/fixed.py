import torch
from fixedpoint_fixed import FixedPoint, Map
from torch import nn

torch.manual_seed(36)


class DEQ(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.inject, self.map, self.read = nn.Linear(4, d), Map(d), nn.Linear(d, 2)

    def forward(self, x):
        u = self.inject(x)
        z = FixedPoint.apply(self.map, u, *self.map.parameters())
        return self.read(z), z


net = DEQ()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(3):
    x = torch.randn(10, 4)
    out, z = net(x)
    task = nn.functional.cross_entropy(out, (x[:, 0] > 0).long())
    decay = 0.01 * z.square().mean()
    opt.zero_grad()
    task.backward(retain_graph=True)
    decay.backward()
    opt.step()
    print(step, round(task.item(), 4), round(decay.item(), 5))
