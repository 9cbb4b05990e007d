import torch
from torch import nn

torch.manual_seed(39)


class LearnedOpt(nn.Module):
    def __init__(self, h=6):
        super().__init__()
        self.cell, self.out, self.h = nn.LSTMCell(1, h), nn.Linear(h, 1), h

    def forward(self, g, state):
        h, c = self.cell(g.reshape(-1, 1), state)
        return 0.1 * self.out(h).view_as(g), (h, c)


def quadratic(params, W, y):
    return (W @ params["theta"] + params["bias"] - y).pow(2).mean()


def fit(opt_net, unroll=4, horizon=16):
    meta = torch.optim.Adam(opt_net.parameters(), lr=1e-2)
    W, y = torch.randn(5, 3), torch.randn(5)
    params = {"theta": torch.randn(3, requires_grad=True), "bias": torch.zeros(5, requires_grad=True)}
    states = {k: (torch.zeros(v.numel(), opt_net.h), torch.zeros(v.numel(), opt_net.h)) for k, v in params.items()}
    all_losses = None
    for it in range(1, horizon + 1):
        loss = quadratic(params, W, y)
        all_losses = loss if all_losses is None else all_losses + loss
        grads = dict(zip(params, torch.autograd.grad(loss, list(params.values()), retain_graph=True)))
        fresh = {}
        for k, p in params.items():
            upd, states[k] = opt_net(grads[k], states[k])
            fresh[k] = p + upd
        params = fresh
        if it % unroll == 0:
            meta.zero_grad()
            all_losses.backward()
            meta.step()
            print(it, all_losses.item())
            all_losses = None


fit(LearnedOpt())
