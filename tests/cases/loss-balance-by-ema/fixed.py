import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(34)


class LossBalancer:
    """Divides each task's loss by its own moving average."""

    def __init__(self, tasks, decay=0.9):
        self.decay = decay
        self.average = dict.fromkeys(tasks)

    def __call__(self, losses):
        total = 0.0
        for task, value in losses.items():
            old = self.average[task]
            now = value.detach()
            self.average[task] = now if old is None else self.decay * old + (1 - self.decay) * now
            total = total + value / self.average[task]
        return total


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.depth = nn.Linear(16, 1)
        self.seg = nn.Linear(16, 3)

    def forward(self, x):
        h = self.shared(x)
        return {"depth": self.depth(h).squeeze(1), "seg": self.seg(h)}


def task_losses(out, batch):
    return {
        "depth": F.l1_loss(out["depth"], batch["depth"]),
        "seg": F.cross_entropy(out["seg"], batch["seg"]),
    }


def batches(n):
    for _ in range(n):
        x = torch.randn(10, 6)
        yield {"x": x, "depth": x.sum(1), "seg": x[:, :3].argmax(1)}


model = MultiTask()
balance = LossBalancer(["depth", "seg"])
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step, batch in enumerate(batches(5)):
    losses = task_losses(model(batch["x"]), batch)
    loss = balance(losses)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, {k: round(v.item(), 3) for k, v in losses.items()})
