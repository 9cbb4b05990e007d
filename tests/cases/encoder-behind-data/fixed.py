import torch
from torch import nn

torch.manual_seed(81)


class Bag(nn.Module):
    def __init__(self, vocab=25, d=8):
        super().__init__()
        self.table, self.proj = nn.Embedding(vocab, d), nn.Linear(d, d)

    def forward(self, ids):
        return self.proj(self.table(ids).mean(1)).relu()


class Pipeline:
    def __init__(self):
        self.encoder, self.head = Bag(), nn.Linear(8, 2)
        groups = [{"params": self.encoder.parameters(), "lr": 1e-2}, {"params": self.head.parameters()}]
        self.opt = torch.optim.Adam(groups, lr=1e-3)

    def codes(self, ids):
        out = self.encoder(ids)
        return out

    def fit(self, batches):
        for ids, label in batches:
            loss = nn.functional.cross_entropy(self.head(self.codes(ids)), label)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


pipe = Pipeline()
batches = [(ids, (ids[:, 0] > 12).long()) for ids in torch.randint(0, 25, (10, 16, 5))]
before = pipe.encoder.proj.weight.detach().clone()
value = pipe.fit(batches)
moved = (pipe.encoder.proj.weight.detach() - before).abs().sum().item()
print("loss", round(value, 4), "encoder moved", round(moved, 4))
