import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
WAYS, SHOTS, DIM = 3, 4, 10


class Embedder(nn.Module):
    def __init__(self, d_in=DIM, d_out=6):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d_in, 16), nn.ReLU(), nn.Linear(16, d_out))

    def forward(self, x):
        return self.layers(x)


def make_split(per_class):
    centers = 2 * torch.randn(WAYS, DIM)
    x = torch.cat([c + torch.randn(per_class, DIM) for c in centers])
    y = torch.arange(WAYS).repeat_interleave(per_class)
    return x, y, centers


def compute_prototypes(embedder, support):
    protos = {}
    for label, samples in support.items():
        protos[label] = embedder(samples).mean(dim=0)
    return torch.stack([protos[k] for k in sorted(protos)])


def distances(queries, protos):
    return torch.cdist(queries, protos).pow(2)


class FewShotTrainer:
    def __init__(self, embedder, support, query_loader):
        self.embedder = embedder
        self.support = support
        self.query_loader = query_loader
        self.opt = torch.optim.Adam(embedder.parameters(), lr=1e-3)

    def train_epoch(self):
        hits, total = 0, 0
        for x, y in self.query_loader:
            protos = compute_prototypes(self.embedder, self.support)
            logits = -distances(self.embedder(x), protos)
            loss = F.cross_entropy(logits, y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            hits += (logits.argmax(1) == y).sum().item()
            total += len(y)
        return hits / total, loss.item()


x, y, centers = make_split(20)
support = {c: centers[c] + torch.randn(SHOTS, DIM) for c in range(WAYS)}
trainer = FewShotTrainer(Embedder(), support, DataLoader(TensorDataset(x, y), batch_size=15))
for epoch in range(2):
    acc, last = trainer.train_epoch()
    print(f"{epoch} acc {acc:.2f} last loss {last:.4f}")
