import torch
from torch import nn

torch.manual_seed(0)
teacher, student = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)), nn.Linear(3, 2)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.rand(6, 3)
target = teacher(x)
for epoch in range(4):
    loss = (student(x) - target.detach()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
