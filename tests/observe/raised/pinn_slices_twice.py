import torch, torch.nn as nn
class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))
model = PINN()
xt = torch.rand(32, 2, requires_grad=True)
x, t = xt[:, :1], xt[:, 1:]
u = model(x, t)
x_in = xt[:, :1]  # made
u_x = torch.autograd.grad(u.sum(), x_in, create_graph=True)[0]  # raises AFT506: x_in
print(u_x.shape)
