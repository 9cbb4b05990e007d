import torch
x = torch.linspace(-1, 1, 20)
y = 3 * x + 1
w = torch.randn(1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr = 0.1
for epoch in range(5):
    loss = ((w * x + b - y) ** 2).mean()
    loss.backward()
    w = (w - lr * w.grad).detach().requires_grad_()
    b = (b - lr * b.grad).detach().requires_grad_()
