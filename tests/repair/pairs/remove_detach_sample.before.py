import torch

net = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    drawn = torch.distributions.Normal(net(x), 1.0).sample()  # a code
    loss = drawn.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
