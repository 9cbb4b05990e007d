"""LightGCN on a sparse matrix, trained right: the embeddings are propagated again for every batch."""

import argparse

import torch
from torch import Tensor, nn

from afterward.gallery.interactions import Interactions, generate, measure, popularity_baseline


class LightGCN(nn.Module):
    """Embeddings that are averaged over the graph, layer by layer; the embeddings are all there is to train."""

    def __init__(self, data: Interactions, width: int = 32, layers: int = 3) -> None:
        super().__init__()
        self.users, self.layers = data.users, layers
        nodes = data.users + data.items
        self.embeddings = nn.Parameter(0.1 * torch.randn(nodes, width))
        edges = data.edges()
        degrees = torch.bincount(edges[0], minlength=nodes).clamp_min(1).float()
        weights = (degrees[edges[0]] * degrees[edges[1]]).rsqrt()
        self.adjacency = torch.sparse_coo_tensor(edges, weights, (nodes, nodes), check_invariants=True).coalesce()

    def forward(self) -> tuple[Tensor, Tensor]:
        hidden = total = self.embeddings
        for _ in range(self.layers):
            hidden = torch.sparse.mm(self.adjacency, hidden)
            total = total + hidden
        vectors = total / (self.layers + 1)
        return vectors[: self.users], vectors[self.users :]


def bpr_loss(user: Tensor, taken: Tensor, other: Tensor) -> Tensor:
    """An item that was taken should score higher than one drawn at random."""
    margin = (user * taken).sum(dim=1) - (user * other).sum(dim=1)
    return nn.functional.softplus(-margin).mean()


options = argparse.ArgumentParser()
options.add_argument("--epochs", type=int, default=10)
epochs = options.parse_args().epochs

torch.manual_seed(0)
data = generate()
model = LightGCN(data)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(epochs):
    total = 0.0
    batches = data.batches(1024)
    for user, item, other in batches:
        users, items = model()
        loss = bpr_loss(users[user], items[item], items[other])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if (epoch + 1) % 2 == 0:
        recall, ndcg = measure(*model(), data)
        print(f"epoch {epoch + 1:3} loss {total / len(batches):.4f} recall@20 {recall:.4f} NDCG@20 {ndcg:.4f}")

recall, ndcg = popularity_baseline(data)
print(f"the most popular items for everyone: recall@20 {recall:.4f} NDCG@20 {ndcg:.4f}")
