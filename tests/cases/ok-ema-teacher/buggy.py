import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(56)


class Student(nn.Module):
    def __init__(self, k=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 6))
        self.register_buffer("prototypes", F.normalize(torch.randn(k, 6), dim=-1))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1) @ self.prototypes.T / 0.1


student = Student()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(student.parameters(), lr=1e-3)


@torch.no_grad()
def after_step(z, assign, momentum=0.95):
    for s, t in zip(student.parameters(), teacher.parameters()):
        t.lerp_(s, 1 - momentum)
    for k in assign.unique():
        student.prototypes[k].mul_(momentum).add_((1 - momentum) * z[assign == k].mean(0))
    student.prototypes.copy_(F.normalize(student.prototypes, dim=-1))
    teacher.prototypes.copy_(student.prototypes)


for step in range(5):
    clean = torch.randn(16, 8)
    noisy = clean + 0.1 * torch.randn_like(clean)
    wanted = teacher(clean).softmax(-1)
    loss = F.cross_entropy(student(noisy), wanted)
    opt.zero_grad()
    loss.backward()
    opt.step()
    after_step(F.normalize(teacher.net(clean), dim=-1), wanted.argmax(-1))
    print(step, round(loss.item(), 4))
