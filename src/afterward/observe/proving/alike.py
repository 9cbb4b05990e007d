"""Knows a number that is computed again from the same values, as `(-gain.mean()).backward()` written twice does it.

Two numbers are one if the same operations made them, of the same inputs, with the same values saved: their gradients
are then the same to the bit. Dropout saves another mask, another target is another saved value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from afterward.observe import compat
from afterward.observe.node_numbers import order_of
from afterward.observe.proving.sampled import sampled

DEPTH = 12  # operations below a number that are looked at; what lies deeper must be the very same nodes

Made = tuple[object, ...]


class Alike:
    """The numbers since the last step of an optimizer."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], int] = {}  # (order of a node, depth) -> how it was made, numbered
        self._ways: dict[Made, int] = {}
        self._first: dict[int, int] = {}  # how it was made -> the first number made so
        self._same: dict[int, int] = {}  # order -> order of the first number that is the same

    def order(self, node: Any) -> int:
        """The order of a number's node, or of the first one that is the same number."""
        own = order_of(node)
        if own not in self._same:
            self._same[own] = self._first.setdefault(self._way(node, DEPTH), own)
        return self._same[own]

    def stepped(self) -> None:
        """What is computed again with other parameters is another number."""
        self._made.clear()
        self._ways.clear()
        self._first.clear()

    def _way(self, node: Any, depth: int) -> int:
        """How a node was made, as a number: the same for all that were made alike."""
        order = order_of(node)
        if order == compat.LEAF_ORDER:
            return self._number(("leaf", id(getattr(node, "variable", node))))
        if not depth:
            return self._number(("node", order))
        if (order, depth) not in self._made:
            below = tuple(
                (self._way(child, depth - 1), slot) for child, slot in node.next_functions if child is not None
            )
            self._made[order, depth] = self._number((node.name(), below, *_saved(node, order)))
        return self._made[order, depth]

    def _number(self, way: Made) -> int:
        return self._ways.setdefault(way, len(self._ways))


def _saved(node: Any, order: int) -> Iterator[object]:
    """The values that a node keeps; what cannot be read makes it like no other."""
    names = [name for name in dir(type(node)) if name.startswith("_saved_")] or ["saved_tensors"]
    for name in names:
        try:
            yield _plain(getattr(node, name, None))
        except RuntimeError:  # freed
            yield order


def _plain(value: Any) -> object:
    if isinstance(value, (tuple, list)):
        return tuple(map(_plain, value))
    if not isinstance(value, compat.torch_module().Tensor):
        return repr(value)
    numbers = repr((tuple(value.shape), sampled(value))).encode()
    return hashlib.sha1(numbers, usedforsecurity=False).hexdigest()
