import torch
from ops import squared_relu
from torch import nn

torch.manual_seed(59)


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(6, 12)
        self.click, self.dwell = nn.Linear(12, 1), nn.Linear(12, 1)

    def forward(self, x):
        shared = squared_relu(self.stem(x))
        return self.click(shared).squeeze(-1), self.dwell(shared).squeeze(-1)


net = Ranker()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(3):
    x = torch.randn(16, 6)
    click, dwell = net(x)
    click_loss = nn.functional.binary_cross_entropy_with_logits(click, (x[:, 0] > 0).float())
    dwell_loss = nn.functional.mse_loss(dwell, x[:, 1])
    opt.zero_grad()
    (click_loss + dwell_loss).backward()
    opt.step()
    print(step, round(click_loss.item(), 4), round(dwell_loss.item(), 4))
