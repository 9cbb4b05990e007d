"""Small training loops, bound by operations: the worst case for a watcher. Used by bench_watch.py."""

import torch
from torch import nn


def tiny_mlp(steps, device="cpu"):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.randn(16, 8, device=device), torch.randn(16, 1, device=device)
    for _ in range(steps):
        optimizer.zero_grad()
        output = model(x)
        loss = (output - y).pow(2).mean()
        loss.backward()
        optimizer.step()


def rnn_cell(steps, device="cpu"):
    cell, head = nn.RNNCell(4, 8).to(device), nn.Linear(8, 1).to(device)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.01)
    inputs = torch.randn(10, 4, 4, device=device)
    for _ in range(steps):
        optimizer.zero_grad()
        hidden = torch.zeros(4, 8, device=device)
        for x in inputs:
            hidden = cell(x, hidden)
        loss = head(hidden).pow(2).mean()
        loss.backward()
        optimizer.step()


class HandMadeGRU(nn.Module):
    """One operation or two per statement: as dense with statements as real code gets."""

    def __init__(self):
        super().__init__()
        self.wz, self.wr, self.wn = (nn.Parameter(torch.randn(12, 8) * 0.1) for _ in range(3))

    def forward(self, x, h):
        both = torch.cat([x, h], 1)
        z = torch.sigmoid(both @ self.wz)
        r = torch.sigmoid(both @ self.wr)
        gated = r * h
        again = torch.cat([x, gated], 1)
        n = torch.tanh(again @ self.wn)
        return (1 - z) * n + z * h


def gru_by_hand(steps, device="cpu"):
    cell = HandMadeGRU().to(device)
    optimizer = torch.optim.SGD(cell.parameters(), lr=0.01)
    inputs = torch.randn(8, 4, 4, device=device)
    for _ in range(max(steps // 2, 5)):
        optimizer.zero_grad()
        h = torch.zeros(4, 8, device=device)
        for x in inputs:
            h = cell(x, h)
        loss = h.pow(2).mean()
        loss.backward()
        optimizer.step()


def gnn(steps, device="cpu"):
    first, second = nn.Linear(6, 12).to(device), nn.Linear(12, 3).to(device)
    optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=0.01)
    adjacency = (torch.rand(30, 30, device=device) < 0.2).float()
    features, labels = torch.randn(30, 6, device=device), torch.randint(0, 3, (30,), device=device)
    for _ in range(steps):
        optimizer.zero_grad()
        hidden = torch.relu(first(adjacency @ features))
        logits = second(adjacency @ hidden)
        loss = nn.functional.cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()


def scalar_ops(steps, device="cpu"):
    weight = torch.ones((), requires_grad=True, device=device)
    for _ in range(steps):
        a = weight * 2
        b = a + 1
        c = b * a
        d = c - b
        e = d * d
        e.backward()
        weight.grad = None


def gan(steps, device="cpu"):
    generator, critic = nn.Linear(4, 8).to(device), nn.Linear(8, 1).to(device)
    of_generator = torch.optim.SGD(generator.parameters(), lr=0.01)
    of_critic = torch.optim.SGD(critic.parameters(), lr=0.01)
    real, noise = torch.randn(16, 8, device=device), torch.randn(16, 4, device=device)
    for _ in range(steps):
        of_critic.zero_grad()
        fake = generator(noise)
        loss = critic(fake.detach()).mean() - critic(real).mean()
        loss.backward()
        of_critic.step()
        of_generator.zero_grad()
        loss = -critic(fake).mean()
        loss.backward()
        of_generator.step()


def retained(steps, device="cpu"):
    shared, first, second = (nn.Linear(8, 8).to(device) for _ in range(3))
    parameters = [*shared.parameters(), *first.parameters(), *second.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    x = torch.randn(16, 8, device=device)
    for _ in range(steps):
        optimizer.zero_grad()
        features = shared(x)
        one = first(features).pow(2).mean()
        other = second(features).pow(2).mean()
        one.backward(retain_graph=True)
        other.backward()
        optimizer.step()


def penalty(steps, device="cpu"):
    critic = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1)).to(device)
    optimizer = torch.optim.SGD(critic.parameters(), lr=0.01)
    x = torch.randn(16, 8, device=device, requires_grad=True)
    for _ in range(steps):
        optimizer.zero_grad()
        score = critic(x).sum()
        (slope,) = torch.autograd.grad(score, x, create_graph=True)
        loss = (slope.norm(dim=1) - 1).pow(2).mean()
        loss.backward()
        optimizer.step()


def wide_mlp(steps, device="cpu"):
    """Bound by the device, not by launching: some milliseconds of matrix products in a step."""
    model = nn.Sequential(*[layer for _ in range(6) for layer in (nn.Linear(2048, 2048), nn.ReLU())]).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    x = torch.randn(2048, 2048, device=device)
    for _ in range(max(steps // 4, 5)):
        optimizer.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        optimizer.step()
