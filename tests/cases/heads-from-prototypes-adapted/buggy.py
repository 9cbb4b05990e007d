import torch
from torch import nn
from torch.func import functional_call
import torch.nn.functional as F

torch.manual_seed(233)


class ProtoMAML:
    def __init__(self, ways=3, inner_lr=0.1, steps=2):
        self.encoder = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 6))
        self.meta_opt = torch.optim.Adam(self.encoder.parameters(), lr=5e-3)
        self.ways, self.inner_lr, self.steps = ways, inner_lr, steps

    def prototypes(self, x, y):
        z = self.encoder(x)
        return torch.stack([z[y == c].mean(0) for c in range(self.ways)])

    def adapt(self, x, y):
        protos = self.prototypes(x, y)
        weight, bias = 2 * protos, -protos.pow(2).sum(1)
        fast = dict(self.encoder.named_parameters())
        for _ in range(self.steps):
            loss = F.cross_entropy(F.linear(functional_call(self.encoder, fast, x), weight, bias), y)
            grads = torch.autograd.grad(loss, [*fast.values(), weight, bias])
            fast = {n: p - self.inner_lr * g for (n, p), g in zip(fast.items(), grads)}
            weight, bias = weight - self.inner_lr * grads[-2], bias - self.inner_lr * grads[-1]
        return fast, weight, bias

    def outer(self, tasks):
        self.meta_opt.zero_grad()
        total = 0.0
        for (xs, ys), (xq, yq) in tasks:
            fast, weight, bias = self.adapt(xs, ys)
            loss = F.cross_entropy(F.linear(functional_call(self.encoder, fast, xq), weight, bias), yq)
            (loss / len(tasks)).backward()
            total += loss.item() / len(tasks)
        self.meta_opt.step()
        return total


def task(ways=3, shots=4):
    centres = torch.randn(ways, 5) * 2
    y = torch.arange(ways).repeat_interleave(shots)
    return (centres[y] + torch.randn(len(y), 5), y), (centres[y] + torch.randn(len(y), 5), y)


learner = ProtoMAML()
for it in range(3):
    print(it, round(learner.outer([task(), task()]), 5))
