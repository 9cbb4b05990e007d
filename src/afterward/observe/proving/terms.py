"""The numbers that a loss is the sum of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from afterward.model.operations import ADDING, SCALING, operation
from afterward.observe import compat
from afterward.observe.failure.walk import SUMMANDS
from afterward.observe.node_numbers import order_of


class Counted(NamedTuple):
    """How often a number enters a sum, and with which factor in all."""

    times: int = 0
    weight: float = 0.0

    def also(self, other: Counted, factor: float = 1.0) -> Counted:
        return Counted(self.times + other.times, self.weight + factor * other.weight)


def terms_of(roots: Iterable[Any]) -> dict[Any, Counted]:
    """The nodes that made the numbers which a loss is the sum of, each with how it is counted.

    A sum of numbers is followed to its summands, the newest node first.
    """
    times: dict[Any, Counted] = {}
    found: dict[Any, Counted] = {}
    for root in roots:
        times[root] = times.get(root, Counted()).also(Counted(1, 1.0))
    while times and len(found) < SUMMANDS:
        node = max(times, key=order_of)
        count = times.pop(node)
        below = [child for child, _ in node.next_functions if child is not None]
        if _adds_up(node, below) and all(map(_is_made_of_numbers, below)):
            for child in below:
                times[child] = times.get(child, Counted()).also(count, _factor(node))
        else:
            found[node] = found.get(node, Counted()).also(count)
    return found


def _factor(node: Any) -> float:
    """By what a sum scales its summands: `loss / 4`, `0.1 * loss`, a mean; not a number where it was freed."""
    try:
        return _saved_factor(node, operation(node.name()))
    except RuntimeError:
        return math.nan


def _saved_factor(node: Any, kind: str) -> float:
    if kind == "Mean":
        return 1.0 / (getattr(node, "_saved_self_sym_numel", 1) or 1)
    saved = [getattr(node, name, None) for name in ("_saved_other", "_saved_self")] if kind in SCALING else []
    by = next((float(one) for one in saved if isinstance(one, float) or (one is not None and one.numel() == 1)), 1.0)
    return 1.0 / by if kind == "Div" and by else by


def _is_made_of_numbers(node: Any, depth: int = 3) -> bool:
    """Is it a number, or several of them put together: `torch.stack(losses)`?"""
    below = [child for child, _ in node.next_functions if child is not None]
    if is_number(node) or not depth or not _adds_up(node, below):
        return is_number(node)
    return all(_is_made_of_numbers(child, depth - 1) for child in below)


def _adds_up(node: Any, below: list[Any]) -> bool:
    """Is what a node makes the sum of what is below it, each scaled by a number that has no graph?"""
    kind = operation(node.name())
    return bool(below) and (
        kind in ADDING or (kind in SCALING and len(below) == 1)
    )  # a product of losses is one number


def is_number(node: Any) -> bool:
    """Did the forward operation of this node make a single number?"""
    if order_of(node) == compat.LEAF_ORDER:
        return False
    made = getattr(node, "_input_metadata", None)
    try:
        return made is not None and len(made) == 1 and all(int(size) == 1 for size in made[0].shape)
    except Exception:  # a node of another make
        return False
