import torch
from torch import nn

torch.manual_seed(35)


def ohem(per_sample, keep=0.25):
    k = max(1, int(keep * len(per_sample)))
    return per_sample.topk(k).values.mean()


class Callback:
    def on_backward_end(self, trainer): ...


class HardMining(Callback):
    def on_backward_end(self, trainer):
        (0.5 * ohem(trainer.outputs["per_sample"])).backward()


class Trainer:
    def __init__(self, model, callbacks=()):
        self.model, self.callbacks = model, callbacks
        self.opt = torch.optim.SGD(model.parameters(), lr=0.05)
        self.crit = nn.CrossEntropyLoss(reduction="none")
        self.outputs = {}

    def training_step(self, batch):
        x, y = batch
        per_sample = self.crit(self.model(x), y)
        self.outputs["per_sample"] = per_sample
        return per_sample.mean()

    def fit(self, batches):
        for batch in batches:
            loss = self.training_step(batch)
            self.opt.zero_grad()
            loss.backward()
            for cb in self.callbacks:
                cb.on_backward_end(self)
            self.opt.step()
            print(round(loss.item(), 4))


Trainer(nn.Linear(6, 3), [HardMining()]).fit([(torch.randn(12, 6), torch.randint(0, 3, (12,))) for _ in range(3)])
