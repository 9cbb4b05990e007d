import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(223)


class ONN(nn.Module):
    def __init__(self, features=4, classes=2, layers=3, hidden=8, beta=0.99):
        super().__init__()
        self.hidden = nn.ModuleList(nn.Linear(features if i == 0 else hidden, hidden) for i in range(layers))
        self.output = nn.ModuleList(nn.Linear(hidden, classes) for _ in range(layers))
        self.beta = torch.tensor(beta)
        self.alpha = [torch.tensor(1.0 / layers) for _ in range(layers)]

    def forward(self, x):
        outs = []
        for layer, head in zip(self.hidden, self.output):
            x = F.relu(layer(x))
            outs.append(head(x))
        return outs

    def losses_per_layer(self, x, y):
        return [F.cross_entropy(out, y) for out in self(x)]

    def update_weights(self, x, y, optimizer):
        losses = self.losses_per_layer(x, y)
        optimizer.zero_grad()
        weighted = sum(a.detach() * loss for a, loss in zip(self.alpha, losses))
        weighted.backward()
        optimizer.step()
        for i in range(len(losses)):
            self.alpha[i] = self.alpha[i] * torch.pow(self.beta, losses[i].detach())
            self.alpha[i] = torch.max(self.alpha[i], torch.tensor(0.02))
        total = sum(a.detach() for a in self.alpha)
        self.alpha = [a / total for a in self.alpha]
        return weighted.item()


net = ONN()
sgd = torch.optim.SGD(net.parameters(), lr=0.05)
for t in range(16):
    value = net.update_weights(torch.randn(1, 4), torch.randint(0, 2, (1,)), sgd)
print(f"{value:.6f}", [round(float(a), 6) for a in net.alpha])
