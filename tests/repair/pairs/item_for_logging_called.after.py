import torch

net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def update(x):
    loss = net(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


update(torch.randn(4, 3)).item()
losses = []
for step in range(8):
    loss = update(torch.randn(4, 3)).item()
    losses.append(loss)
