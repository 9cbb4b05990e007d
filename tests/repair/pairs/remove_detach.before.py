import torch

net = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    parts = [head.pow(2).mean() for head in net(x).unbind(1)]
    loss = torch.tensor([0.5 * part for part in parts]).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
