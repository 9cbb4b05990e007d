import torch
from torch import nn
from training import minimise

torch.manual_seed(88)


class SageLayer(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.own, self.other = nn.Linear(a, b), nn.Linear(a, b, bias=False)

    def forward(self, x, adj):
        return torch.relu(self.own(x) + self.other(adj @ x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([SageLayer(5, 16), SageLayer(16, 8)])
        self.label = nn.Linear(8, 3)

    def embed(self, x, adj):
        for layer in self.layers:
            x = layer(x, adj)
        return x


n = 14
adj = (torch.rand(n, n) < 0.25).float()
adj = ((adj + adj.T) > 0).float()
x, y = torch.randn(n, 5), torch.randint(0, 3, (n,))
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    z = net.embed(x, adj / adj.sum(1, keepdim=True).clamp(min=1))
    with minimise(opt, "both") as job:
        job.loss = nn.functional.binary_cross_entropy_with_logits(z @ z.T, adj)
        job.loss = job.loss + nn.functional.cross_entropy(net.label(z), y)
    opt.step()
    opt.zero_grad()
print("done", round(job.value, 4))
