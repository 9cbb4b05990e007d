import torch
from torch import nn

torch.manual_seed(96)


class Unroll(nn.Module):
    def __init__(self, d=4, h=9):
        super().__init__()
        self.inp, self.rec, self.out = nn.Linear(d, h), nn.Linear(h, h), nn.Linear(h, d)

    def forward(self, seq):
        h, outputs = torch.zeros(seq.size(1), self.rec.in_features), []
        for x in seq:
            h = torch.tanh(self.inp(x) + self.rec(h))
            outputs.append(self.out(h))
        return outputs


def train(model, opt, seq):
    losses = [(o - t).square().mean() for o, t in zip(model(seq[:-1]), seq[1:])]
    last = len(losses) - 1
    for t, loss in enumerate(losses):
        opt.zero_grad()
        loss.backward(retain_graph=t < last)
        opt.step()
    return sum(v.item() for v in losses) / len(losses)


model = Unroll()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for k in range(3):
    print(k, round(train(model, opt, torch.randn(7, 5, 4)), 4))
