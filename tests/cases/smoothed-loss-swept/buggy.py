import torch
from torch import nn

torch.manual_seed(31)


def smoothing(beta):
    """Decorator: the wrapped loss function returns an exponential average."""

    def wrap(fn):
        smooth = None

        def inner(*args):
            nonlocal smooth
            value = fn(*args)
            smooth = value if smooth is None else beta * smooth + (1 - beta) * value
            return smooth

        return inner

    return wrap


class AutoEncoder(nn.Module):
    def __init__(self, d=10, k=3):
        super().__init__()
        self.down, self.up = nn.Linear(d, k), nn.Linear(k, d)

    def forward(self, x):
        return self.up(self.down(x).relu())


ae = AutoEncoder()
opt = torch.optim.Adam(ae.parameters(), lr=1e-2)


@smoothing(beta=0.8)
def objective(x):
    return (ae(x) - x).square().mean()


for step in range(6):
    loss = objective(torch.randn(32, 10))
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 4))
