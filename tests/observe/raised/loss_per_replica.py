import torch, torch.nn as nn
class ModelWithLoss(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, x, y):
        out = self.net(x)
        return ((out - y) ** 2).mean(dim=1), out  # made
model = ModelWithLoss(nn.Linear(4, 2))
opt = torch.optim.Adam(model.parameters())
losses = []
for x, y in [(torch.randn(8, 4), torch.randn(8, 2)) for _ in range(3)]:
    loss, out = model(x, y)  # made
    opt.zero_grad()
    loss.backward()  # raises AFT505: loss
    opt.step()
    losses.append(loss.item())
