import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(77)


class CentredLoss(nn.Module):
    def __init__(self, dim, momentum=0.9):
        super().__init__()
        self.register_buffer("centre", torch.zeros(1, dim))
        self.momentum = momentum

    def forward(self, student_out, teacher_out):
        wanted = F.softmax((teacher_out.detach() - self.centre) / 0.07, dim=-1)
        loss = -(wanted * F.log_softmax(student_out / 0.1, dim=-1)).sum(-1).mean()
        self.update(torch.cat([student_out, teacher_out]))
        return loss

    def update(self, outputs):
        batch_centre = outputs.detach().mean(0, keepdim=True)
        self.centre = self.centre * self.momentum + batch_centre * (1 - self.momentum)


def backbone():
    return nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.Linear(32, 6))  


student = backbone()
teacher = copy.deepcopy(student).requires_grad_(False)
criterion = CentredLoss(6)
opt = torch.optim.AdamW(student.parameters(), lr=1e-3)


@torch.no_grad()
def momentum_update(m=0.99):
    for s, t in zip(student.parameters(), teacher.parameters()):
        t.mul_(m).add_(s, alpha=1 - m)


for step in range(4):
    view_a, view_b = torch.randn(2, 16, 12)
    out = student(view_a)
    loss = criterion(out, teacher(view_b))
    opt.zero_grad()
    loss.backward()
    opt.step()
    momentum_update()
    print(step, round(loss.item(), 4))
