import torch
from torch import nn

torch.manual_seed(34)


class PromptTuner:
    """Adam for the head, plain gradient descent for the prompt vector."""

    def __init__(self, d=6, lr=0.1):
        self.head, self.lr = nn.Linear(d, 2), lr
        self.prompt = torch.zeros(d, requires_grad=True)
        self.opt = torch.optim.Adam(self.head.parameters(), lr=1e-2)

    def loss(self, x, y):
        return nn.functional.cross_entropy(self.head(torch.tanh(x + self.prompt)), y)

    def step(self, x, y):
        self.opt.zero_grad()
        self.prompt.retain_grad()
        loss = self.loss(x, y)
        loss.backward()
        self.opt.step()
        self.prompt = (self.prompt - self.lr * self.prompt.grad).detach().requires_grad_()
        return loss.item()


tuner = PromptTuner()
for step in range(40):
    x = torch.randn(16, 6)
    value = tuner.step(x, (x[:, 0] > 0.3).long())
print("loss", round(value, 4))
