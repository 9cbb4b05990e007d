import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(44)


class Member:
    def __init__(self, width):
        self.net = nn.Sequential(nn.Linear(9, width), nn.ReLU(), nn.Linear(width, 4))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.05, momentum=0.9)
        self.record = []


class Cohort:
    def __init__(self, widths, temperature=2.0):
        self.members, self.t = [Member(w) for w in widths], temperature

    def agree(self, mine, peer):
        return F.kl_div(F.log_softmax(mine / self.t, 1), F.softmax(peer / self.t, 1), reduction="batchmean")

    def learn(self, x, y):
        outputs = [m.net(x) for m in self.members]
        for i, (member, logits) in enumerate(zip(self.members, outputs)):
            others = [o.detach() for j, o in enumerate(outputs) if j != i]
            loss = F.cross_entropy(logits, y)
            loss = loss + sum(self.agree(logits, peer) for peer in others) / len(others)
            member.opt.zero_grad()
            loss.backward()
            member.record.append(loss.item())
        for member in self.members:
            member.opt.step()


cohort = Cohort([12, 20])
for _ in range(4):
    cohort.learn(torch.randn(15, 9), torch.randint(0, 4, (15,)))
print([round(m.record[-1], 4) for m in cohort.members])
