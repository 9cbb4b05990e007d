import torch

net = torch.nn.Linear(4, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    gate = torch.sigmoid(net(x))
    gate = gate * 0.5
    loss = (gate * x).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
