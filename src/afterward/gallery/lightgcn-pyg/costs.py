"""What the ways to train LightGCN on PyTorch Geometric cost, side by side: time, peak bytes of the graph, recall."""

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.nn import LGConv

from afterward.gallery.interactions import Interactions, generate, measure
from afterward.gallery.saved_bytes import saved_bytes


class LightGCN(nn.Module):
    """Embeddings that are averaged over the graph, layer by layer; the embeddings are all there is to train."""

    def __init__(self, data: Interactions, width: int = 32, layers: int = 3) -> None:
        super().__init__()
        self.users = data.users
        self.embeddings = nn.Parameter(0.1 * torch.randn(data.users + data.items, width))
        self.layers = nn.ModuleList([LGConv() for _ in range(layers)])
        self.edges = data.edges()

    def forward(self) -> tuple[Tensor, Tensor]:
        hidden = total = self.embeddings
        for layer in self.layers:
            hidden = layer(hidden, self.edges)
            total = total + hidden
        vectors = total / (len(self.layers) + 1)
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


def train(name: str, epoch_of: Callable[..., None], epochs: int, second: float | None = None) -> float:
    """Print a row; the first row's time for an epoch is the measure of the others."""
    torch.manual_seed(0)
    model = LightGCN(data)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    begin = time.process_time()
    for _ in range(epochs):
        epoch_of(model, optimizer, data)
    seconds = (time.process_time() - begin) / epochs
    recall, ndcg = measure(*model(), data)
    with saved_bytes() as saved:
        epoch_of(model, optimizer, data)
    ratio = seconds / (second or seconds)
    row = f"{name:<28} {epochs:>6} {ratio:>10.2f} {ratio * epochs / options.epochs:>10.2f}"
    print(f"{row} {saved.peak / 2**20:>9.2f} {recall:>10.4f} {ndcg:>8.4f}")
    return seconds


parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=10)
options = parser.parse_args()
torch.set_num_threads(1)  # so that the time of the processor is the time that it takes
data = generate()
steps = len(data.batches(1024))

print("                                          an epoch,  all of it,   graph,")
print("way to train                 epochs       time       time  peak MiB  recall@20  NDCG@20")
unit = train("propagate in each batch", epoch_by_batch, options.epochs)
train("one combined pass an epoch", epoch_combined, options.epochs, unit)
train("  with as many steps", epoch_combined, options.epochs * steps, unit)
train("retain_graph=True (stale)", epoch_retained, options.epochs, unit)
