import torch

torch.manual_seed(0)
net_g = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
net_d = torch.nn.Linear(3, 1)
opt_d = torch.optim.Adam(net_d.parameters(), lr=0.01)
opt_g = torch.optim.Adam(net_g.parameters(), lr=0.01)
for real in torch.randn(4, 8, 3):
    net_d.zero_grad()
    fake = net_g(torch.randn(8, 2))
    d_loss = (net_d(real) - 1).pow(2).mean() + net_d(fake.detach()).pow(2).mean()
    d_loss.backward()
    opt_g.step()
    net_g.zero_grad()
    g_loss = (net_d(fake) - 1).pow(2).mean()
    g_loss.backward()
    opt_g.step()
