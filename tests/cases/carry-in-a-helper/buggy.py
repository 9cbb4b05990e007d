import torch
from torch import nn


class Carry:
    def __init__(self):
        self.h = None

    def get(self, batch, size):
        if self.h is None:
            self.h = torch.zeros(1, batch, size)
        return self.h

    def put(self, h):
        self.h = h


class LM(nn.Module):
    def __init__(self, vocab=12, d=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, d)
        self.rnn = nn.GRU(d, d, batch_first=True)
        self.out = nn.Linear(d, vocab)
        self.d = d

    def forward(self, tokens, carry):
        h = carry.get(tokens.size(0), self.d)
        y, h = self.rnn(self.emb(tokens), h)
        carry.put(h)
        return self.out(y)


def run_epoch(model, ids, bptt, opt=None):
    carry = Carry()
    total = 0
    for i in range(0, ids.size(1) - 1, bptt):
        n = min(bptt, ids.size(1) - 1 - i)
        logits = model(ids[:, i : i + n], carry)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, i + 1 : i + 1 + n])
        if opt is not None:
            opt.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            opt.step()
        total += loss.item() * n
    return total / (ids.size(1) - 1)


if __name__ == "__main__":
    torch.manual_seed(0)
    lm = LM()
    opt = torch.optim.SGD(lm.parameters(), lr=0.5)
    ids = torch.randint(0, 12, (3, 41))
    for epoch in range(2):
        print(run_epoch(lm, ids, 8, opt))
