import torch, torch.nn as nn
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
def features(x):
    h = net[0](x)  # made
    h.requires_grad = False  # raises AFT502: h
    return h
print(net[2](features(torch.randn(2, 4))))
