import torch
from torch import nn

torch.manual_seed(39)


class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.q, self.kv, self.last = nn.Linear(d, d), nn.Linear(d, 2 * d), None

    def forward(self, x):
        k, v = self.kv(x).chunk(2, -1)
        probs = (self.q(x) @ k.mT / x.size(-1) ** 0.5).softmax(-1)
        self.last = probs
        return probs @ v


class Model(nn.Module):
    def __init__(self, vocab=9, d=6):
        super().__init__()
        self.emb, self.attention, self.out = nn.Embedding(vocab, d), Attention(d), nn.Linear(d, vocab)

    def forward(self, ids):
        return self.out(self.attention(self.emb(ids)))


def picture(attention, ids, pad=0):
    weights = attention.last
    weights.masked_fill_((ids == pad)[:, None, :], 0.0)
    return "".join(" .:*#"[min(int(v * 8), 4)] for v in weights[0, 0].tolist())


model = Model()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(1, 8):
    ids = torch.randint(0, 9, (3, 6))
    loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.roll(1, 1).flatten())
    if step % 3 == 0:
        print(step, round(loss.item(), 4), "|" + picture(model.attention, ids) + "|")
    opt.zero_grad()
    loss.backward()
    opt.step()
