"""What the ways to train LightGCN on DGL cost, side by side: time, peak bytes of the graph, recall."""

import argparse
import os

os.environ.setdefault("DGLBACKEND", "pytorch")

import dgl
import dgl.function as fn
import torch
from torch import Tensor, nn

from afterward.gallery.interactions import Interactions, generate
from afterward.gallery.ways_compared import Way, compare


class LightGCN(nn.Module):
    """Embeddings that are averaged over the graph, layer by layer; the embeddings are all there is to train."""

    def __init__(self, data: Interactions, width: int = 32, layers: int = 3) -> None:
        super().__init__()
        self.users, self.layers = data.users, layers
        nodes = data.users + data.items
        self.embeddings = nn.Parameter(0.1 * torch.randn(nodes, width))
        self.graph = dgl.graph(tuple(data.edges()), num_nodes=nodes)
        degrees = self.graph.in_degrees().clamp_min(1).float()
        source, target = self.graph.edges()
        self.graph.edata["weight"] = (degrees[source] * degrees[target]).rsqrt()

    def forward(self) -> tuple[Tensor, Tensor]:
        hidden = total = self.embeddings
        with self.graph.local_scope():
            for _ in range(self.layers):
                self.graph.ndata["hidden"] = hidden
                self.graph.update_all(fn.u_mul_e("hidden", "weight", "message"), fn.sum("message", "hidden"))
                hidden = self.graph.ndata["hidden"]
                total = total + hidden
        vectors = total / (self.layers + 1)
        return vectors[: self.users], vectors[self.users :]


def bpr_loss(user: Tensor, taken: Tensor, other: Tensor) -> Tensor:
    """An item that was taken should score higher than one drawn at random."""
    margin = (user * taken).sum(dim=1) - (user * other).sum(dim=1)
    return nn.functional.softplus(-margin).mean()


def epoch_by_batch(model: LightGCN, optimizer: torch.optim.Optimizer, data: Interactions) -> None:
    for user, item, other in data.batches(1024):
        users, items = model()
        loss = bpr_loss(users[user], items[item], items[other])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def epoch_retained(model: LightGCN, optimizer: torch.optim.Optimizer, data: Interactions) -> None:
    users, items = model()
    for user, item, other in data.batches(1024):
        loss = bpr_loss(users[user], items[item], items[other])
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()


def epoch_combined(model: LightGCN, optimizer: torch.optim.Optimizer, data: Interactions) -> None:
    users, items = model()
    losses = [bpr_loss(users[user], items[item], items[other]) for user, item, other in data.batches(1024)]
    optimizer.zero_grad()
    torch.stack(losses).mean().backward()
    optimizer.step()


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
epochs = parser.parse_args().epochs
data = generate()
batches = len(data.batches(1024))
compare(
    LightGCN,
    data,
    [
        Way("propagate in each batch", epoch_by_batch, epochs),
        Way("one combined pass an epoch", epoch_combined, epochs),
        Way("  with as many steps", epoch_combined, epochs * batches),
        Way("retain_graph=True (stale)", epoch_retained, epochs),
    ],
)
