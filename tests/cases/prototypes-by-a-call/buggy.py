import torch
import torch.nn.functional as F
from torch import nn


class ProtoTrainer:
    def __init__(self, n_classes=3):
        self.encoder = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8))
        self.optimizer = torch.optim.SGD(self.encoder.parameters(), lr=0.05)
        self.n = n_classes
        self.support = torch.randn(n_classes, 4, 5)
        self.protos = None

    def update_prototypes(self):
        feats = self.encoder(self.support.flatten(0, 1)).view(self.n, 4, -1)
        self.protos = feats.mean(1)

    def loss(self, x, y):
        d = torch.cdist(self.encoder(x), self.protos)
        return F.cross_entropy(-d, y)

    def train_epoch(self, loader):
        self.update_prototypes()
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = self.loss(x, y)
            loss.backward()
            self.optimizer.step()


torch.manual_seed(0)
tr = ProtoTrainer()
for epoch in range(2):
    tr.train_epoch([(torch.randn(6, 5), torch.randint(0, 3, (6,))) for _ in range(3)])
