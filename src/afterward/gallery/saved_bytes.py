"""Counts the bytes that autograd holds for backward passes to come: what a graph costs while it lives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor


@dataclass
class SavedBytes:
    """`peak` is the most that was held at one time. A value that two nodes have saved counts once."""

    peak: int = 0
    now: int = 0
    holders: Counter[int] = field(default_factory=Counter)

    def take(self, place: int, size: int) -> None:
        if not self.holders[place]:
            self.now += size
            self.peak = max(self.peak, self.now)
        self.holders[place] += 1

    def let_go(self, place: int, size: int) -> None:
        self.holders[place] -= 1
        if not self.holders[place]:
            self.now -= size


class _Held:
    """One saved tensor, from the moment a node keeps it to the moment it is freed."""

    def __init__(self, tensor: Tensor, counted: SavedBytes) -> None:
        self.tensor, self.counted = tensor, counted
        parts = [tensor._values(), tensor._indices()] if tensor.is_sparse else [tensor]
        self.parts = [(part.untyped_storage().data_ptr(), part.untyped_storage().nbytes()) for part in parts]
        for place, size in self.parts:
            counted.take(place, size)

    def __del__(self) -> None:
        for place, size in self.parts:
            self.counted.let_go(place, size)


@contextmanager
def saved_bytes() -> Iterator[SavedBytes]:
    """Within this block, count what the nodes that are built keep."""
    counted = SavedBytes()
    with torch.autograd.graph.saved_tensors_hooks(lambda tensor: _Held(tensor, counted), lambda held: held.tensor):
        yield counted
