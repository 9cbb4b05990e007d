import argparse
import dataclasses
from typing import Optional

import torch
from torch import nn

torch.manual_seed(7)


@dataclasses.dataclass
class Carry:
    h: torch.Tensor
    c: torch.Tensor
    steps: int = 0

    def map(self, fn):
        return Carry(fn(self.h), fn(self.c), self.steps)


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.cell = nn.LSTMCell(3, n)
        self.head = nn.Linear(n, 1)

    def start(self, b):
        z = torch.zeros(b, self.cell.hidden_size)
        return Carry(z, z.clone())

    def forward(self, x, carry: Carry):
        h, c = self.cell(x, (carry.h, carry.c))
        return self.head(h), dataclasses.replace(carry, h=h, c=c, steps=carry.steps + 1)


def main(argv=None):
    p = argparse.ArgumentParser()
    p.add_argument("--hidden", type=int, default=8)
    p.add_argument("--window", type=int, default=4)
    args = p.parse_args(argv)
    model = Model(args.hidden)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    carry: Optional[Carry] = None
    for i in range(6):
        if carry is None:
            carry = model.start(2)
        total = torch.zeros(())
        for t in range(args.window):
            y, carry = model(torch.randn(2, 3), carry)
            total = total + y.pow(2).mean()
        opt.zero_grad()
        total.backward()
        opt.step()
        carry = carry.map(torch.Tensor.detach)


if __name__ == "__main__":
    main([])
