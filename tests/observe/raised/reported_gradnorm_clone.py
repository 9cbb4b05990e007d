"""https://github.com/hosseinshn/GradNorm/issues/10"""
import torch
from torch import nn


class TwoTasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(6, 8)
        self.heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(2))

    def forward(self, x):
        shared = torch.relu(self.trunk(x))
        return [head(shared) for head in self.heads]


def gradient_norms(losses, shared):
    return [torch.autograd.grad(loss, shared, create_graph=True)[0].norm() for loss in losses]  # raises AFT506: shared


def train(model, batches):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    shared = model.trunk.weight.clone()  # made
    for x, targets in batches:
        losses = [(out - target).pow(2).mean() for out, target in zip(model(x), targets)]
        norms = torch.stack(gradient_norms(losses, shared))
        optimizer.zero_grad()
        (sum(losses) + norms.std()).backward()
        optimizer.step()


train(TwoTasks(), [(torch.randn(4, 6), torch.randn(2, 4, 1)) for _ in range(3)])
