import torch

torch.manual_seed(0)
net_g = torch.nn.Linear(2, 3)
net_d = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
opt_g = torch.optim.Adam(net_g.parameters(), lr=0.01)
opt_d = torch.optim.Adam(net_d.parameters(), lr=0.01)
for real in torch.randn(4, 8, 3):
    net_d.zero_grad()
    real_loss = (net_d(real) - 1).pow(2).mean()
    real_loss.backward()
    fake = net_g(torch.randn(8, 2))
    fake_loss = net_d(fake.detach()).pow(2).mean()
    opt_d.step()
    fake_loss.backward()
    net_g.zero_grad()
    loss = (net_d(fake) - 1).pow(2).mean()
    loss.backward()
    opt_g.step()
