import torch

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))


def made(model):
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    model[2] = torch.nn.Linear(4, 1)
    return adam


optimizer = made(net)
for x in torch.randn(6, 8, 4):
    optimizer.zero_grad()
    loss = (net(x) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
