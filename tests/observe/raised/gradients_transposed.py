import torch, torch.nn as nn
net = nn.Linear(4, 2)
def load(grads):
    for p, g in zip(net.parameters(), grads):
        p.grad = g  # raises AFT505: p
load([torch.zeros(4, 2), torch.zeros(2)])
