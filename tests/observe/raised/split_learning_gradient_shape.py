import torch, torch.nn as nn
encoder = nn.Linear(4, 6)
class Client:
    def __init__(self):
        self.model = nn.Linear(6, 1)
    def grad_at(self, h, y):
        h = h[:3].detach().requires_grad_()
        loss = ((self.model(h) - y[:3]) ** 2).mean()
        loss.backward()
        return h.grad
x, y = torch.randn(5, 4), torch.randn(5, 1)
h = encoder(x)  # made
g = Client().grad_at(h, y)
h.backward(g)  # raises AFT505: h
