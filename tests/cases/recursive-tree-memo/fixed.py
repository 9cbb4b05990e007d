import torch
from torch import nn

torch.manual_seed(24)


class TreeNet(nn.Module):
    def __init__(self, words, d=6):
        super().__init__()
        self.index = {w: i for i, w in enumerate(words)}
        self.leaf, self.join, self.score = nn.Embedding(len(words), d), nn.Linear(2 * d, d), nn.Linear(d, 1)
        self.memo = {}

    def encode(self, tree):
        if tree not in self.memo:
            if isinstance(tree, str):
                self.memo[tree] = self.leaf(torch.tensor(self.index[tree]))
            else:
                left, right = (self.encode(t) for t in tree)
                self.memo[tree] = torch.tanh(self.join(torch.cat([left, right])))
        return self.memo[tree]

    def forward(self, tree):
        self.memo.clear()
        return self.score(self.encode(tree)).squeeze()


NP = ("the", "cat")
TREES = [
    (("a", "dog"), "ran", 1.0),
    (NP, ("saw", "it"), 0.0),
    (("a", "fish"), ("saw", ("my", "dog")), 1.0),
    (NP, "ran", 1.0),
    (NP, ("ate", "it"), 0.0),
]
net = TreeNet(sorted({"the", "cat", "a", "dog", "ran", "saw", "it", "fish", "my", "ate"}))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for left, right, label in TREES:
    loss = nn.functional.binary_cross_entropy_with_logits(net((left, right)), torch.tensor(label))
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(left, right, round(loss.item(), 4))
