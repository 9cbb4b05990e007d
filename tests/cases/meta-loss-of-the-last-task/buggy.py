import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call

torch.manual_seed(59)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(x)


class Sine:
    def __init__(self):
        self.a, self.p = float(torch.rand(1)) * 4 + 0.5, float(torch.rand(1)) * 3

    def batch(self, n=10):
        x = torch.rand(n, 1) * 10 - 5
        return x, self.a * torch.sin(x + self.p)


class MAML:
    def __init__(self, model, inner_lr=0.05, inner_steps=2):
        self.model, self.inner_lr, self.inner_steps = model, inner_lr, inner_steps
        self.meta_opt = torch.optim.Adam(model.parameters(), lr=1e-2)

    def adapt(self, task):
        params = dict(self.model.named_parameters())
        for _ in range(self.inner_steps):
            x, y = task.batch()
            loss = F.mse_loss(functional_call(self.model, params, (x,)), y)
            grads = torch.autograd.grad(loss, params.values(), create_graph=True)
            params = {k: p - self.inner_lr * g for (k, p), g in zip(params.items(), grads)}
        return params

    def outer_step(self, tasks):
        self.meta_opt.zero_grad()
        for task in tasks:
            params = self.adapt(task)
            x, y = task.batch()
            meta_loss = F.mse_loss(functional_call(self.model, params, (x,)), y)
        meta_loss = meta_loss / len(tasks)
        meta_loss.backward()
        self.meta_opt.step()
        return meta_loss.item()


maml = MAML(Regressor())
for it in range(5):
    print(it, round(maml.outer_step([Sine() for _ in range(3)]), 5))
