import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def attacked(x, y):
    x = x.detach().requires_grad_()
    loss = (net(x) - y).pow(2).mean()
    (direction,) = torch.autograd.grad(loss, x)
    return (x + 0.1 * direction.sign()).detach()


for step in range(4):
    x, y = torch.randn(4, 3), torch.randn(4, 1)
    loss = (net(attacked(x, y)) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
