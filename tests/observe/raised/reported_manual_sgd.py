"""https://github.com/pytorch/examples/pull/779"""
import torch
from torch import nn

class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Embedding(20, 8), nn.Linear(8, 20)

    def forward(self, words):
        return self.head(self.embed(words))


def train(model, batches, lr):
    for words in batches:
        model.zero_grad()
        loss = nn.functional.cross_entropy(model(words[:-1]), words[1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():  # made
            p.add_(p.grad, alpha=-lr)  # raises AFT501: p


train(Language(), torch.randint(0, 20, (3, 9)), 0.5)
