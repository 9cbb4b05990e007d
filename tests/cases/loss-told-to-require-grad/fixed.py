import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(12)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 24), nn.PReLU(), nn.Linear(24, 8))

    def forward(self, x):
        return F.normalize(self.body(x))


class ArcMarginProduct(nn.Module):
    def __init__(self, feats, classes, s=8.0, m=0.2):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(classes, feats))
        self.s, self.m = s, m

    def forward(self, feature, label):
        cosine = F.linear(feature, F.normalize(self.weight)).clamp(-0.99, 0.99)
        phi = torch.cos(torch.acos(cosine) + self.m)
        hot = F.one_hot(label, cosine.shape[1]).float()
        return self.s * (hot * phi + (1 - hot) * cosine)


model, metric_fc = Backbone(), ArcMarginProduct(8, 5)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD([{"params": model.parameters()}, {"params": metric_fc.parameters()}], lr=0.05, momentum=0.9)

for i in range(6):
    data_input, label = torch.randn(20, 10), torch.randint(0, 5, (20,))
    feature = model(data_input)
    output = metric_fc(feature, label)
    loss = criterion(output, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    acc = (output.argmax(1) == label).float().mean().item()
    print(i, f"{loss.item():.4f} {acc:.2f}")
