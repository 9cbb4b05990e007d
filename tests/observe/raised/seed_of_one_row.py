import torch, torch.nn as nn
net = nn.Linear(4, 2)
def jacobian_row(out, i):
    seed = torch.zeros(2)
    seed[i] = 1
    out.backward(seed)  # raises AFT505: out
out = net(torch.randn(3, 4))
jacobian_row(out, 0)
