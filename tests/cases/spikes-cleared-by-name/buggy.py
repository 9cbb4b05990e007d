import torch
from torch import nn

torch.manual_seed(7)


class LIF(nn.Module):
    def __init__(self, d, beta=0.9):
        super().__init__()
        self.fc = nn.Linear(d, d)
        self.beta = beta
        self.state = []

    def reset(self):
        self.state = []

    def forward(self, x):
        mem = self.state[-1] if self.state else torch.zeros_like(x)
        mem = self.beta * mem + self.fc(x)
        spk = torch.sigmoid(5 * (mem - 1))
        mem = mem - spk
        self.state.append(mem)
        return spk


class SNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Sequential(LIF(4), LIF(4))

    def forward(self, xs):
        return torch.stack([self.l(x) for x in xs]).mean(0)

    def reset(self):
        for m in self.l:
            m.state.clear


net = SNN()
opt = torch.optim.Adam(net.parameters())
for i in range(3):
    net.reset()
    loss = (net(torch.randn(5, 2, 4)) - 0.5).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
