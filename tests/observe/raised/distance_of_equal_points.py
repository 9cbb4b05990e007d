import torch, torch.nn as nn
torch.autograd.set_detect_anomaly(True)
class Dist(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(3, 3, bias=False)
    def forward(self, a, b):
        d = self.enc(a) - self.enc(b)
        return torch.sqrt((d ** 2).sum(1))  # made
m = Dist()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
x = torch.randn(4, 3)
for i in range(2):
    y = x.clone() if i else torch.randn(4, 3)
    loss = m(x, y).mean()
    opt.zero_grad()
    loss.backward()  # raises AFT510
    opt.step()
