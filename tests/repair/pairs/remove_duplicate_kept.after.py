import torch
from torch import nn

net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
saved = []
for episode in torch.randn(4, 5, 4):
    for x in episode:
        saved.append(net(x).log_softmax(-1)[0])
    loss = 0
    for log_prob, reward in zip(saved, range(5)): loss = loss - log_prob * reward
    opt.zero_grad()
    loss.backward()
    saved.clear()
    opt.step()
