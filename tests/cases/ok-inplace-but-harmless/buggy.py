import torch
from torch import nn

torch.manual_seed(57)


class Pointer(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.enc, self.query = nn.Linear(3, d), nn.Parameter(torch.randn(d))

    def forward(self, items, lengths):
        h = self.enc(items).relu_()
        scores = h @ self.query
        scores += 0.1 * torch.arange(items.size(1))
        mask = torch.arange(items.size(1)) >= lengths[:, None]
        scores.masked_fill_(mask, float("-inf"))
        return scores.log_softmax(-1)


def collate(rows):
    longest = max(len(r) for r in rows)
    out = torch.zeros(len(rows), longest, 3)
    for i, r in enumerate(rows):
        out[i, :len(r)] = r
    return out, torch.tensor([len(r) for r in rows])


model = Pointer()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(5):
    rows = [torch.randn(int(n), 3) for n in torch.randint(2, 7, (6,))]
    best = torch.tensor([int(r[:, 0].argmax()) for r in rows])
    items, lengths = collate(rows)
    total = torch.zeros(())
    for part in torch.arange(6).split(3):
        log_p = model(items[part], lengths[part])
        total += nn.functional.nll_loss(log_p, best[part])
    opt.zero_grad()
    total.backward()
    opt.step()
    with torch.no_grad():
        model.query.clamp_(-3, 3)
print("loss", round(total.item(), 4))
