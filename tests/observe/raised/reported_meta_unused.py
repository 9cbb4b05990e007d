"""https://github.com/ShiYunyi/Meta-Weight-Net_Code-Optimization/issues/5"""
import torch
from torch import nn

class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head, self.auxiliary = nn.Linear(6, 8), nn.Linear(8, 3), nn.Linear(8, 3)

    def forward(self, x):
        features = torch.relu(self.body(x))
        return self.head(features) if self.training else (self.head(features), self.auxiliary(features))


pseudo_net = Classifier()
weights = nn.Sequential(nn.Linear(1, 4), nn.Sigmoid(), nn.Linear(4, 1))
x, y = torch.randn(16, 6), torch.randint(0, 3, (16,))
losses = nn.functional.cross_entropy(pseudo_net(x), y, reduction="none").view(-1, 1)
pseudo_loss = (weights(losses.detach()) * losses).mean()
grads = torch.autograd.grad(pseudo_loss, list(pseudo_net.parameters()), create_graph=True)  # raises AFT506: pseudo_net.auxiliary.weight
