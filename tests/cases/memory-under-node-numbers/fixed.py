import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
DIM, NODES = 6, 12


class NodeMemory:
    def __init__(self, dim):
        self.dim = dim
        self.store = {}

    def get(self, node):
        if node not in self.store:
            self.store[node] = torch.zeros(self.dim)
        return self.store[node]

    def set(self, node, value):
        self.store[node] = value

    def detach_all(self):
        for node, mem in self.store.items():
            self.store[node] = mem.detach()


class TGN(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.memory = NodeMemory(dim)
        self.message = nn.Linear(2 * dim + 1, dim)
        self.updater = nn.GRUCell(dim, dim)
        self.decoder = nn.Linear(2 * dim, 1)

    def forward(self, sources, targets, times):
        scores = []
        for src, dst, t in zip(sources.tolist(), targets.tolist(), times):
            a, b = self.memory.get(src), self.memory.get(dst)
            msg = torch.tanh(self.message(torch.cat([a, b, t.view(1)])))
            new = self.updater(msg.unsqueeze(0), a.unsqueeze(0)).squeeze(0)
            self.memory.set(src, new)
            scores.append(self.decoder(torch.cat([new, b])))
        return torch.cat(scores)


def batches(n, size):
    for _ in range(n):
        yield (torch.randint(0, NODES, (size,)), torch.randint(0, NODES, (size,)), torch.rand(size), torch.randint(0, 2, (size,)).float())


def train():
    model = TGN(DIM)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for i, (src, dst, times, label) in enumerate(batches(6, 8)):
        model.memory.detach_all()
        optimizer.zero_grad()
        out = model(src, dst, times)
        loss = F.binary_cross_entropy_with_logits(out, label)
        loss.backward()
        optimizer.step()
        print(i, f"{loss.item():.5f}")


train()
