import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(46)


class SineNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x)


class Task:
    def __init__(self):
        self.amp, self.phase = 0.5 + torch.rand(1), 3 * torch.rand(1)

    def sample(self, n=10):
        x = torch.rand(n, 1) * 4 - 2
        return x, self.amp * torch.sin(x + self.phase)


class MAML:
    def __init__(self, model, inner_lr=0.05, outer_lr=5e-3):
        self.model, self.inner_lr = model, inner_lr
        self.meta_opt = torch.optim.Adam(model.parameters(), lr=outer_lr)

    def adapt(self, x, y):
        params = dict(self.model.named_parameters())
        loss = F.mse_loss(functional_call(self.model, params, (x,)), y)
        grads = torch.autograd.grad(loss, tuple(params.values()), create_graph=True)
        return {k: p - self.inner_lr * g for (k, p), g in zip(params.items(), grads)}

    def outer_step(self, tasks):
        scores, total = [], 0.0
        for task in tasks:
            fast = self.adapt(*task.sample())
            x, y = task.sample()
            meta_loss = F.mse_loss(functional_call(self.model, fast, (x,)), y)
            scores.append(meta_loss.item())
            total = total + meta_loss
        self.meta_opt.zero_grad()
        total.backward()
        self.meta_opt.step()
        return sum(scores) / len(scores)


maml = MAML(SineNet())
for it in range(6):
    print(it, round(maml.outer_step([Task() for _ in range(4)]), 5))
