import torch
import torch.nn as nn

torch.manual_seed(8)
CHARS = "the quick brown fox jumps over the lazy dog "
VOCAB = sorted(set(CHARS))
ids = torch.tensor([VOCAB.index(c) for c in CHARS * 6])


class CharModel(nn.Module):
    def __init__(self, v, h=20):
        super().__init__()
        self.table = nn.Embedding(v, 10)
        self.cell = nn.LSTMCell(10, h)
        self.logits = nn.Linear(h, v)

    def forward(self, seq, memory):
        outs = []
        for tok in seq:
            memory = self.cell(self.table(tok)[None], memory)
            outs.append(self.logits(memory[0]))
        return torch.cat(outs), memory


def windows(stream, size):
    start = 0
    while start + size + 1 <= len(stream):
        yield stream[start:start + size], stream[start + 1:start + size + 1]
        start += size


model = CharModel(len(VOCAB))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
carry = (torch.zeros(1, 20), torch.zeros(1, 20))
for i, (src, dst) in enumerate(windows(ids, 22)):
    for part in carry:
        part.detach()
    out, carry = model(src, carry)
    loss = nn.functional.cross_entropy(out, dst)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.5)
    opt.step()
    if i % 4 == 0:
        print(i, round(loss.item(), 4))
