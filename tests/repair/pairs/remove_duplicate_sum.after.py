import torch

net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
running = 0.0
for x in torch.randn(4, 8, 3):
    step_loss = net(x).pow(2).mean()
    running += step_loss.item()
    opt.zero_grad()
    step_loss.backward()
    opt.step()
