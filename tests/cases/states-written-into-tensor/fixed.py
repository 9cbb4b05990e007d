import torch
from torch import nn

torch.manual_seed(30)


class Unrolled(nn.Module):
    def __init__(self, i=2, h=6):
        super().__init__()
        self.w, self.u = nn.Linear(i, h), nn.Linear(h, h, bias=False)
        self.h = h

    def forward(self, x):
        batch, length, _ = x.shape
        states = [torch.zeros(batch, self.h)]
        for t in range(length):
            mixed = self.w(x[:, t]) + self.u(states[t])
            states.append(torch.tanh(mixed))
        return torch.stack(states[1:], 1)


class Counter(nn.Module):
    """Counts how often the second input was on."""

    def __init__(self):
        super().__init__()
        self.rnn, self.read = Unrolled(), nn.Linear(6, 1)

    def forward(self, x):
        return self.read(self.rnn(x)).squeeze(-1)


net = Counter()
opt = torch.optim.RMSprop(net.parameters(), lr=2e-3)
for step in range(3):
    x = torch.rand(8, 10, 2).round()
    wanted = x[..., 1].cumsum(1) / 10
    error = (net(x) - wanted).abs().mean()
    opt.zero_grad()
    error.backward()
    opt.step()
    print(step, round(error.item(), 4))
