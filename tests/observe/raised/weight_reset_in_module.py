import torch, torch.nn as nn, torch.nn.functional as F
class Linear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))  # made
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.reset()
    def reset(self):
        self.weight.normal_(0, 0.02)  # raises AFT501: self.weight
    def forward(self, x):
        return F.linear(x, self.weight, self.bias)
net = Linear(4, 2)
print(net(torch.randn(3, 4)).sum())
