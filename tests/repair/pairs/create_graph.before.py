import torch

net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
t = torch.linspace(0, 1, 16)[:, None].requires_grad_()
for step in range(3):
    u = net(t)
    du = torch.autograd.grad(u, t, torch.ones_like(u))[0]
    loss = (du + u).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
