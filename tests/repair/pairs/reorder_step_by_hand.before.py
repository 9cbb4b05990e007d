import copy

import torch


def average(teacher, student):
    with torch.no_grad():
        for mine, theirs in zip(teacher.parameters(), student.parameters()):
            mine.mul_(0.9).add_(theirs, alpha=0.1)


torch.manual_seed(0)
student = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
teacher = copy.deepcopy(student)
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
for x in torch.randn(4, 5, 3):
    loss = (student(x) - teacher(x + 0.1)).pow(2).mean()
    average(teacher, student)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
