import torch
from torch import nn

torch.manual_seed(92)


class Trainer:
    def __init__(self, net, lr):
        self.net, self.seen = net, 0
        self.opt = torch.optim.SGD(net.parameters(), lr=lr)

    def learn(self, x, y):
        out = self.net(x)
        loss = nn.functional.mse_loss(out, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.seen += 1
        return loss.item()

    def fit(self, xs, ys, epochs):
        for epoch in range(epochs):
            total = 0.0
            for x, y in zip(xs, ys):
                total += self.learn(x, y)
            print("epoch", epoch, "samples", self.seen, "sum of losses", round(total, 2))


xs = torch.randn(40, 4)
trainer = Trainer(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)), 0.02)
trainer.fit(xs, xs.sum(1, keepdim=True), 3)
