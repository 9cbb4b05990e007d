import torch
from torch import nn

torch.manual_seed(22)


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 20), nn.ReLU())
        self.head = nn.Linear(20, 3)

    def forward(self, x):
        return self.head(self.features(x))

    def freeze(self):
        for p in self.parameters():
            p.requires_grad_(False)
        return self.eval()

    def unfreeze(self):
        for p in self.parameters():
            p.requires_grad_(True)
        return self.train()


def evaluate(model, x, y):
    model.freeze()
    return (model(x).argmax(-1) == y).float().mean().item()


def batches(n):
    for _ in range(n):
        x = torch.randn(16, 6)
        yield x, x[:, :3].argmax(1)


model = Probe()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
held_out = next(batches(1))
for epoch in range(3):
    model.unfreeze()
    for x, y in batches(4):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(epoch, round(loss.item(), 4), "accuracy", round(evaluate(model, *held_out), 3))
