import collections

import torch
import torch.nn as nn

torch.manual_seed(90)
Outcome = collections.namedtuple("Outcome", "loss size")


def stream(n):
    for i in range(n):
        x = torch.randn(12, 5)
        y = x.sum(1, keepdim=True).tanh()
        if i == 23:
            y = y * 40
        yield i, x, y


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.inner(x)


def evaluate(model, x, y):
    return Outcome(nn.functional.mse_loss(model(x), y), len(x))


def apply(outcome, opt, lr):
    for group in opt.param_groups:
        group["lr"] = lr
    opt.zero_grad()
    outcome.loss.backward()
    opt.step()


model = Regressor()
opt = torch.optim.SGD(model.parameters(), lr=0.05)
typical = 1.0
for i, x, y in stream(40):
    attempt = evaluate(model, x, y)
    apply(attempt, opt, lr=0.05)
    value = attempt.loss.item()
    if value > 20 * typical:
        print("spike at", i, "- once more, carefully")
        apply(attempt, opt, lr=0.001)
    typical = 0.9 * typical + 0.1 * min(value, 1.0)
print("final", round(typical, 4))
