from dataclasses import dataclass
import torch


@dataclass
class Batch:
    obs: torch.Tensor
    act: torch.Tensor
    logp: torch.Tensor
    adv: torch.Tensor
    ret: torch.Tensor


class RolloutBuffer:
    def __init__(self, gamma=0.99, lam=0.95):
        self.gamma, self.lam = gamma, lam
        self.data = {"obs": [], "act": [], "logp": [], "val": [], "rew": []}

    def store(self, *items):
        for key, item in zip(self.data, items):
            self.data[key].append(item)

    def finish(self):
        self.full = {k: torch.stack(v) for k, v in self.data.items()}
        val = torch.cat([self.full["val"], torch.zeros(1)])
        delta = self.full["rew"] + self.gamma * val[1:] - val[:-1]
        adv, acc = [], 0.0
        for d in reversed(delta):
            acc = d + self.gamma * self.lam * acc
            adv.insert(0, acc)
        self.full["adv"] = torch.stack(adv)
        self.full["ret"] = self.full["adv"] + self.full["val"]

    def minibatches(self, size):
        order = torch.randperm(len(self.full["obs"]))
        for idx in order.split(size):
            yield Batch(**{k: self.full[k][idx] for k in ("obs", "act", "logp", "adv", "ret")})
