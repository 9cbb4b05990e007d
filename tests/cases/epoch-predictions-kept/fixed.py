import torch
from torch import nn

torch.manual_seed(23)


class Ranker(nn.Module):
    def __init__(self, d=6):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(d, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, x):
        return self.inner(x).squeeze(-1)


def auc(scores, labels):
    pos, neg = scores[labels == 1], scores[labels == 0]
    return (pos[:, None] > neg[None]).float().mean().item()


def epoch(model, opt, batches):
    preds, labels = [], []
    for x, y in batches:
        score = model(x)
        loss = nn.functional.binary_cross_entropy_with_logits(score, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        preds.append(torch.sigmoid(score.detach()))
        labels.append(y)
    return auc(torch.cat(preds), torch.cat(labels))


model = Ranker()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
data = [(x, (x.sum(1) > 0).float()) for x in torch.randn(24, 10, 6)]
print("auc", round(epoch(model, opt, data), 3))
