"""https://github.com/dillondavis/RecurrentAttentionConvolutionalNeuralNetwork/issues/4"""
import torch
import torch.nn.functional as F
from torch import nn


class Scales(nn.Module):
    def __init__(self, scales=3, classes=5):
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(10, classes) for _ in range(scales))

    def forward(self, x):
        return [head(x) for head in self.heads]


def rank_loss(coarse, fine, labels, margin=0.05):
    before = F.softmax(coarse, dim=1).gather(1, labels.view(-1, 1))
    after = F.softmax(fine, dim=1).gather(1, labels.view(-1, 1))
    return torch.clamp(before - after + margin, min=0)  # made


class Manager:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def do_batch(self, batch, labels):
        self.optimizer.zero_grad()
        scores = self.model(batch)
        for i in range(1, len(scores)):
            loss = rank_loss(scores[i - 1], scores[i], labels)
            loss.backward(retain_graph=True)  # raises AFT505: loss
        self.optimizer.step()


manager = Manager(Scales())
for _ in range(2):
    manager.do_batch(torch.randn(32, 10), torch.randint(5, (32,)))
