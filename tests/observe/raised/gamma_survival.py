import torch, torch.nn as nn

class Survival(nn.Module):
    def __init__(self):
        super().__init__()
        self.shape = nn.Linear(2, 1)

    def forward(self, x, t):
        a = nn.functional.softplus(self.shape(x))
        return 1 - torch.special.gammainc(a, t)  # made

net = Survival()
loss = -net(torch.randn(3, 2), torch.rand(3, 1)).clamp_min(1e-6).log().mean()
loss.backward()  # raises AFT514
