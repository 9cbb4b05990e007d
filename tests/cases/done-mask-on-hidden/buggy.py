import torch
from torch import nn

torch.manual_seed(80)


class VecEnv:
    def __init__(self, n):
        self.n, self.t = n, torch.zeros(n)

    def step(self):
        self.t += torch.randint(1, 4, (self.n,))
        done = self.t > 14
        self.t[done] = 0
        return torch.stack([self.t.sin(), self.t.cos()], -1), done


class Core(nn.Module):
    def __init__(self, h=8):
        super().__init__()
        self.cell, self.value = nn.GRUCell(2, h), nn.Linear(h, 1)


class Runner:
    def __init__(self, n=5):
        self.env, self.core = VecEnv(n), Core()
        self.opt = torch.optim.Adam(self.core.parameters(), lr=1e-3)
        self.hidden = torch.zeros(n, 8)

    def segment(self, length=3):
        errors, resets = [], 0
        h = self.hidden.detach()
        for _ in range(length):
            obs, done = self.env.step()
            h = self.core.cell(obs, h)
            errors.append((self.core.value(h).squeeze(-1) - obs[:, 0]).square().mean())
            if done.any():
                h[done] = 0.0
                resets += int(done.sum())
        self.hidden = h
        loss = torch.stack(errors).mean()
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item(), resets


runner = Runner()
for k in range(5):
    loss, resets = runner.segment()
    print(k, round(loss, 4), "resets", resets)
