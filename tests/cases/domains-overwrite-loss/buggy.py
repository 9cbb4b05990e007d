import torch
from torch import nn

torch.manual_seed(74)
DOMAINS = {"photo": 0.0, "sketch": 1.5, "paint": -1.0}


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(5, 20), nn.ReLU())
        self.heads = nn.ModuleDict({d: nn.Linear(20, 2) for d in DOMAINS})

    def forward(self, x, domain):
        return self.heads[domain](self.shared(x))


model = Classifier()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(10):
    opt.zero_grad()
    for domain, shift in DOMAINS.items():
        x = torch.randn(16, 5) + shift
        y = (x[:, 0] > shift).long()
        loss = nn.functional.cross_entropy(model(x, domain), y)
    loss.backward()
    opt.step()
with torch.no_grad():
    x = torch.randn(200, 5)
    right = {d: (model(x + s, d).argmax(1) == (x[:, 0] > 0).long()).float().mean().item() for d, s in DOMAINS.items()}
print({d: round(v, 3) for d, v in right.items()})
