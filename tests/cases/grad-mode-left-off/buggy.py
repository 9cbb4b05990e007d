import torch
from torch import nn

torch.manual_seed(11)


class Settings:
    patience, tolerance, epochs = 2, 0.24, 6


def validate(net, x, y, best):
    torch.set_grad_enabled(False)
    value = nn.functional.mse_loss(net(x), y).item()
    if value < best:
        return value, True
    torch.set_grad_enabled(True)
    return best, False


def train_epoch(net, opt, data):
    for x, y in data:
        pred = net(x)
        loss = nn.functional.mse_loss(pred, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


net = nn.Sequential(nn.Linear(3, 16), nn.Softplus(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
points = torch.randn(6, 20, 3)
data = [(x, x.square().sum(-1, keepdim=True) / 3) for x in points]
best, stale = Settings.tolerance, 0
for epoch in range(Settings.epochs):
    train_loss = train_epoch(net, opt, data[:-1])
    best, better = validate(net, *data[-1], best)
    print(epoch, round(train_loss, 4), round(best, 4), "better" if better else "")
