import torch
import torch.nn.functional as F
from cache_fixed import CachedAttention
from torch import nn

torch.manual_seed(52)


class TinyDecoder(nn.Module):
    def __init__(self, vocab=13, dim=8):
        super().__init__()
        self.tok, self.attn, self.lm = nn.Embedding(vocab, dim), CachedAttention(dim, batch=3, longest=8), nn.Linear(dim, vocab)

    def forward(self, ids):
        self.attn.start()
        logits = [self.lm(self.attn(self.tok(col))) for col in ids.unbind(1)]
        return torch.stack(logits, 1)


model = TinyDecoder()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    ids = torch.randint(0, 13, (3, 7))
    logits = model(ids[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(step, round(loss.item(), 4))
