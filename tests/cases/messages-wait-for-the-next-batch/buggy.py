import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(17)
NODES, DIM = 7, 6


class NodeMemory(nn.Module):
    def __init__(self):
        super().__init__()
        self.updater = nn.GRUCell(2 * DIM + 2, DIM)
        self.state = torch.zeros(NODES, DIM)
        self.messages = {}

    def apply_messages(self):
        """Bring the nodes of the last batch up to date."""
        if not self.messages:
            return
        nodes = sorted(self.messages)
        mail = torch.stack([self.messages[n][-1] for n in nodes])
        fresh = self.updater(mail, self.state[nodes])
        self.state = self.state.index_copy(0, torch.tensor(nodes), fresh)
        self.messages = {}

    def store(self, a, b, edge):
        raw = torch.cat([self.state[a], self.state[b], edge])
        self.messages.setdefault(a, []).append(raw)
        self.messages.setdefault(b, []).append(raw)

    def detach_memory(self):
        self.state = self.state.detach()


class TemporalModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = NodeMemory()
        self.link = nn.Sequential(nn.Linear(2 * DIM, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, events):
        self.memory.apply_messages()
        z = self.memory.state
        logits = []
        for a, b, negative, edge in events:
            logits.append(torch.stack([self.link(torch.cat([z[a], z[b]])), self.link(torch.cat([z[a], z[negative]]))]))
        for a, b, _, edge in events:
            self.memory.store(a, b, edge)
        return torch.stack(logits).squeeze(-1)


def batches(count, size=4):
    for _ in range(count):
        yield [(*torch.randperm(NODES)[:3].tolist(), torch.randn(2)) for _ in range(size)]


tgn = TemporalModel()
optimizer = torch.optim.Adam(tgn.parameters(), lr=0.01)
for events in batches(5):
    optimizer.zero_grad()
    scores = tgn(events)
    wanted = torch.tensor([1.0, 0.0]).expand_as(scores)
    loss = F.binary_cross_entropy_with_logits(scores, wanted)
    loss.backward()
    optimizer.step()
    tgn.memory.detach_memory()
    print(f"{loss.item():.5f}")
