import torch
from torch import nn

torch.manual_seed(45)


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 1, 1))

    def forward(self, img):
        return torch.sigmoid(self.net(img))


class DiceLoss(nn.Module):
    def __init__(self, cut=0.5, eps=1.0):
        super().__init__()
        self.cut, self.eps = cut, eps

    def forward(self, prob, target):
        pred = (prob > self.cut).float()
        overlap = (pred * target).sum((1, 2, 3))
        size = pred.sum((1, 2, 3)) + target.sum((1, 2, 3))
        return 1 - ((2 * overlap + self.eps) / (size + self.eps)).mean()


def discs(n, side=10):
    yy, xx = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    for _ in range(n):
        cx, cy = torch.randint(2, side - 2, (2, 4, 1, 1, 1))
        mask = ((xx - cx) ** 2 + (yy - cy) ** 2 < 6).float()
        yield mask + 0.3 * torch.randn_like(mask), mask


net, dice = Segmenter(), DiceLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for k, (image, mask) in enumerate(discs(3)):
    loss = dice(net(image), mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(k, round(loss.item(), 4))
