import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d, skip):
        super().__init__()
        self.f = nn.Linear(2 * d, d)
        self.skip = skip

    def forward(self, x, state):
        h, extra, n = state
        h = torch.tanh(self.f(torch.cat([x, h], -1)))
        extra = h * 0.5 if self.skip else None
        return h, (h, extra, n + 1)


def main():
    torch.manual_seed(0)
    layers = nn.ModuleList([Layer(4, False), Layer(4, True)])
    opt = torch.optim.SGD(layers.parameters(), lr=0.1)
    states = [(torch.zeros(2, 4), None, 0) for _ in layers]
    for step in range(7):
        x = torch.randn(2, 4)
        new = []
        y = x
        for layer, s in zip(layers, states):
            y, s = layer(y, s)
            new.append(s)
        states = new
        loss = (y - x).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


main()
