import torch
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

torch.manual_seed(0)
calls = []


class Symmetric(torch.nn.Module):
    def forward(self, w):
        calls.append(len(calls))
        return (w + w.T) / 2


net = torch.nn.Sequential(
    torch.nn.LazyLinear(4), weight_norm(torch.nn.Linear(4, 4)), spectral_norm(torch.nn.Linear(4, 4))
)
parametrize.register_parametrization(net[1], "bias", torch.nn.Identity())
net(torch.rand(2, 3))
symmetric = torch.nn.Linear(3, 3)
parametrize.register_parametrization(symmetric, "weight", Symmetric())
optimizer = torch.optim.SGD([*net.parameters(), *symmetric.parameters()], lr=0.01)
for _ in range(12):
    loss = net(symmetric(torch.rand(2, 3))).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(calls), loss.item(), symmetric.weight.sum().item(), net[2].weight.sum().item())
