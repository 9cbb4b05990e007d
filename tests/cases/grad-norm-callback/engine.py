from dataclasses import dataclass, field
from typing import Any

import torch.nn.functional as F


@dataclass
class State:
    step: int = 0
    loss: Any = None
    logs: list = field(default_factory=list)


class Trainer:
    def __init__(self, net, opt, callbacks):
        self.net, self.opt, self.callbacks = net, opt, callbacks
        self.state = State()

    def emit(self, event):
        for cb in self.callbacks:
            getattr(cb, event, lambda trainer: None)(self)

    def fit(self, batches):
        for x, y in batches:
            self.emit("on_batch_start")
            self.opt.zero_grad()
            self.state.loss = F.cross_entropy(self.net(x), y)
            self.state.loss.backward()
            self.emit("after_backward")
            self.opt.step()
            self.state.step += 1
            self.emit("on_batch_end")
