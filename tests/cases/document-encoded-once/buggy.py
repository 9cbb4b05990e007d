import itertools

import torch
from torch import nn

torch.manual_seed(72)


class Seq2Seq(nn.Module):
    def __init__(self, vocab=15, d=10):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.encoder = nn.GRU(d, d, batch_first=True)
        self.decoder = nn.GRUCell(2 * d, d)
        self.out = nn.Linear(d, vocab)

    def encode(self, doc):
        memory, last = self.encoder(self.emb(doc)[None])
        return memory[0], last[0]

    def attend(self, memory, h):
        weights = torch.softmax(memory @ h[0], 0)
        return (weights @ memory)[None]

    def nll(self, memory, h, summary):
        total = 0.0
        for prev, tok in itertools.pairwise(summary):
            step = torch.cat([self.emb(prev)[None], self.attend(memory, h)], -1)
            h = self.decoder(step, h)
            total = total + nn.functional.cross_entropy(self.out(h), tok[None])
        return total / (len(summary) - 1)


def corpus():
    for n_summaries in (1, 2, 3):
        yield torch.randint(0, 15, (12,)), [torch.randint(0, 15, (5,)) for _ in range(n_summaries)]


model = Seq2Seq()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for doc, summaries in corpus():
    memory, last = model.encode(doc)
    for summary in summaries:
        loss = model.nll(memory, last, summary)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(len(summaries), "summaries", round(loss.item(), 4))
