import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)


class DeepCluster(nn.Module):
    def __init__(self, d=7, z=3, k=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, z))
        self.centres = nn.Parameter(torch.randn(k, z))

    def forward(self, x):
        dist = torch.cdist(self.enc(x), self.centres).square()
        q = 1 / (1 + dist)
        return q / q.sum(1, keepdim=True)


def sharpen(q):
    weight = q ** 2 / q.sum(0)
    return weight / weight.sum(1, keepdim=True)


def targets_for(model, data):
    model.eval()
    try:
        return sharpen(model(data)).detach()
    finally:
        model.train()


data = torch.cat([torch.randn(15, 7) + shift for shift in (-2, 0, 2)])
model = DeepCluster()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    p = targets_for(model, data)
    order = torch.randperm(len(data))
    for index in order.split(15):
        loss = F.kl_div(model(data[index]).log(), p[index], reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 5))
