"""Trains one recommender in several ways and prints what each costs: time, peak bytes of the graph, recall and NDCG."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from afterward.gallery.interactions import Interactions, measure
from afterward.gallery.saved_bytes import saved_bytes


@dataclass(frozen=True)
class Way:
    """How an epoch is trained, and how many of them."""

    name: str
    train: Callable[[nn.Module, torch.optim.Optimizer, Interactions], None]
    epochs: int


def compare(build: Callable[[Interactions], nn.Module], data: Interactions, ways: Sequence[Way]) -> None:
    """Print a row for each way; the time of the first way is the measure of the others."""
    torch.set_num_threads(1)  # so that the time of the processor is the time that it takes
    print("                                          an epoch,  all of it,   graph,")
    print("way to train                 epochs       time       time  peak MiB  recall@20  NDCG@20")
    unit = 0.0
    for way in ways:
        torch.manual_seed(0)
        model = build(data)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        seconds = _time(way, model, optimizer, data)
        vectors: tuple[Tensor, Tensor] = model()
        recall, ndcg = measure(*vectors, data)
        with saved_bytes() as saved:
            way.train(model, optimizer, data)
        unit = unit or seconds
        ratio = seconds / unit
        row = f"{way.name:<28} {way.epochs:>6} {ratio:>10.2f} {ratio * way.epochs / ways[0].epochs:>10.2f}"
        print(f"{row} {saved.peak / 2**20:>9.2f} {recall:>10.4f} {ndcg:>8.4f}")


def _time(way: Way, model: nn.Module, optimizer: torch.optim.Optimizer, data: Interactions) -> float:
    """Seconds of the processor for an epoch."""
    begin = time.process_time()
    for _ in range(way.epochs):
        way.train(model, optimizer, data)
    return (time.process_time() - begin) / way.epochs
