import torch, torch.nn as nn
net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
params = net.parameters()
print("parameters:", sum(p.numel() for p in params))
opt = torch.optim.SGD(params, lr=0.1)  # raises AFT504
