import torch
from torch import nn

torch.manual_seed(7)


class Callback:
    def on_loss(self, trainer, loss): ...
    def on_step(self, trainer): ...


class GradLog(Callback):
    def __init__(self):
        self.norms = []

    def on_loss(self, trainer, loss):
        grads = torch.autograd.grad(loss, list(trainer.net.parameters()), retain_graph=True)
        self.norms.append(float(sum(g.norm() for g in grads)))


class Clip(Callback):
    def on_step(self, trainer):
        nn.utils.clip_grad_norm_(trainer.net.parameters(), 1.0)


class Trainer:
    def __init__(self, net, callbacks=()):
        self.net, self.callbacks = net, list(callbacks)
        self.opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def fire(self, name, *args):
        for cb in self.callbacks:
            getattr(cb, name)(self, *args)

    def fit(self, data):
        for x, y in data:
            loss = nn.functional.mse_loss(self.net(x), y)
            self.opt.zero_grad()
            self.fire("on_loss", loss)
            loss.backward()
            self.fire("on_step")
            self.opt.step()


data = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)]
Trainer(nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1)), [Clip(), GradLog()]).fit(data)
