import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
log = {"loss": [], "size": []}


def update(x):
    y = net(x)
    loss, size = y.pow(2).mean(), y.abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), size


for step in range(8):
    loss, size = update(torch.randn(4, 3))
    log["loss"].append(loss)
    log["size"].append(size)
