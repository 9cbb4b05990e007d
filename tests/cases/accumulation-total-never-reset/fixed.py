import argparse

import torch
from torch import nn


def parse(argv=()):
    p = argparse.ArgumentParser()
    p.add_argument("--accumulate", type=int, default=3)
    p.add_argument("--steps", type=int, default=9)
    return p.parse_args(argv)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 8)
        self.mix = nn.Linear(8, 1)

    def forward(self, ids):
        return self.mix(self.emb(ids).mean(1)).squeeze(-1)


def main(args):
    torch.manual_seed(6)
    net = Scorer()
    opt = torch.optim.Adagrad(net.parameters(), lr=0.1)
    total, updates = torch.zeros(()), 0
    for i in range(1, args.steps + 1):
        ids = torch.randint(0, 30, (6, 5))
        target = (ids % 2).float().mean(1)
        total = total + (net(ids) - target).square().mean() / args.accumulate
        if i % args.accumulate == 0:
            opt.zero_grad()
            total.backward()
            opt.step()
            updates += 1
            print("update", updates, round(total.item(), 4))
            total = torch.zeros(())


main(parse())
