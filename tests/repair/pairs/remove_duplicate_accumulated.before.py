import torch

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for i, x in enumerate(torch.randn(16, 8, 4)):
    loss = (net(x) - 1).pow(2).mean() / 4
    loss.backward()
    loss.backward()
    if (i + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
