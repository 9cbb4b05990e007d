import functools

import torch
from torch import nn

torch.manual_seed(66)


def gram(weight):
    return weight @ weight.T


def orthogonality(weight_gram, strength):
    eye = torch.eye(len(weight_gram))
    return strength * (weight_gram - eye).pow(2).sum()


def train(net, data, penalty, steps):
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for k in range(steps):
        x, y = data[k % len(data)]
        fit = nn.functional.mse_loss(net(x), y)
        loss = fit + penalty()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return fit.item()


def main():
    net = nn.Sequential(nn.Linear(8, 8, bias=False), nn.ReLU(), nn.Linear(8, 1))
    data = [(torch.randn(16, 8), torch.randn(16, 1)) for _ in range(4)]
    penalty = lambda: orthogonality(gram(net[0].weight), strength=1e-2)
    print("fit", round(train(net, data, penalty, steps=6), 4))


if __name__ == "__main__":
    main()
