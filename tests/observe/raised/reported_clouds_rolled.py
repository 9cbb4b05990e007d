"""https://github.com/cattaneod/PointNetVlad-Pytorch/issues/4"""
import torch, torch.nn as nn
def shuffled(clouds, shift):
    for i in range(len(clouds)):
        clouds[i] = torch.roll(clouds[i], shift, dims=0)  # raises AFT501: clouds
    return clouds
net = nn.Linear(3, 8)
batch = torch.randn(2, 5, 3).requires_grad_()
net(shuffled(batch, 2)).max(1).values.sum().backward()
