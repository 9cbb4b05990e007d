import torch

model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def attack(x, y):
    delta = torch.zeros_like(x).requires_grad_()
    for _ in range(2):
        loss = (model(x + delta) - y).pow(2).mean()
        loss.backward()
        delta.data = delta + 0.1 * delta.grad.sign()
        delta.grad.zero_()
    return delta.detach()


for x in torch.randn(5, 8, 3):
    y = x.sum(1, keepdim=True)
    loss = (model(x + attack(x, y)) - y).pow(2).mean()
    optimizer.zero_grad()
    optimizer.step()
    loss.backward()
