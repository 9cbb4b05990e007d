import torch, torch.nn as nn
def update(student, teacher, m=0.9):
    for p_s, p_t in zip(student.parameters(), teacher.parameters()):
        p_t.mul_(m).add_(p_s, alpha=1 - m)  # raises AFT501: p_t
student, teacher = nn.Linear(4, 2), nn.Linear(4, 2)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for step in range(3):
    loss = student(torch.randn(8, 4)).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    update(student, teacher)
