"""A second backward, uncaught, from deep in helpers with an own __str__ chain; traceback text must be Python's."""
import torch


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.net = torch.nn.GRUCell(3, 4)
        self.state = torch.zeros(1, 4)

    def step(self, x):
        self.state = self.net(x, self.state)
        return self.state.sum()

    def fit(self):
        for x in torch.randn(4, 1, 3):
            self.apply(self.step(x))

    def apply(self, loss):
        try:
            loss.backward()
        except RuntimeError as error:
            raise ValueError(f"step failed: {len(str(error))} {len(getattr(error, '__notes__', []))} {error.args[0][:30]}") from error


Trainer().fit()
