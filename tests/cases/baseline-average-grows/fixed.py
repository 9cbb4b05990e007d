import torch
from torch import nn

torch.manual_seed(26)


class CentredHead(nn.Module):
    def __init__(self, d=7, k=3):
        super().__init__()
        self.linear, self.baseline = nn.Linear(d, k), torch.zeros(k)

    def forward(self, x):
        out = self.linear(x)
        self.baseline = 0.9 * self.baseline.detach() + 0.1 * out.mean(0)
        return out - self.baseline


head = CentredHead()
opt = torch.optim.SGD(head.parameters(), lr=0.05)
for step in range(30):
    x = torch.randn(12, 7) + 0.5
    y = x[:, :3].argmax(1)
    loss = nn.functional.cross_entropy(head(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("loss", round(loss.item(), 4))
