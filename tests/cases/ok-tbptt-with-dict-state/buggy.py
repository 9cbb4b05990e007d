import torch
from torch import nn

torch.manual_seed(7)


def cut(tree):
    if isinstance(tree, torch.Tensor):
        return tree.detach()
    if isinstance(tree, dict):
        return {k: cut(v) for k, v in tree.items()}
    return type(tree)(cut(v) for v in tree)


class Network(nn.Module):
    def __init__(self, h=8):
        super().__init__()
        self.lstm, self.gru, self.out = nn.LSTMCell(2, h), nn.GRUCell(h, h), nn.Linear(h, 2)
        self.h = h

    def initial(self, batch):
        zero = torch.zeros(batch, self.h)
        return {"lstm": (zero, zero), "gru": [zero]}

    def forward(self, x, state):
        lstm = self.lstm(x, state["lstm"])
        gru = self.gru(lstm[0], state["gru"][0])
        return self.out(gru), {"lstm": lstm, "gru": [gru]}


net = Network()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
state = net.initial(4)
series = torch.randn(25, 4, 2).cumsum(0) / 5
losses = []
for window in series.split(6):
    state = cut(state)
    loss = 0.0
    for now, nxt in zip(window, window[1:]):
        out, state = net(now, state)
        loss = loss + (out - nxt).square().mean()
    if isinstance(loss, float):
        continue
    opt.zero_grad()
    loss.backward()
    opt.step()
    losses.append(loss.item())
print([round(v, 4) for v in losses])
