import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(4, 8, batch_first=True)
        self.state = None

    def forward(self, x):
        out, self.state = self.rnn(x, self.state)
        return out[:, -1].sum(1)


net = Tagger()
opt = torch.optim.Adam(net.parameters())
for step in range(4):
    loss = net(torch.randn(2, 5, 4)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
