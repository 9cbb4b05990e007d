import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.prompt = nn.Parameter(torch.randn(1, 6))
        self.backbone = nn.Linear(6, 6)
        self.head = nn.Linear(6, 2)
    @torch.no_grad()
    def extract(self, x):
        return self.backbone(x).relu()
    def forward(self, x):
        z = checkpoint(self.extract, x + self.prompt, use_reentrant=True)  # made
        return self.head(z)
model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 4, 6):
    loss = model(x).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # raises AFT511: extract
    opt.step()
