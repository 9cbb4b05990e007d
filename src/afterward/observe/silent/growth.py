"""Tells a record that grows from survey to survey: the oldest is still there, and newer ones are used up like it.

Only some passes are looked at, so which pass used a value is not always known. What was used up when nothing else was
there yet, and what came later and is used up now, were used by different passes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from afterward.observe import compat
from afterward.observe.node_numbers import order_of


class Grown:
    """What the surveys have met under each name."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[int, int]] = {}  # the order of the oldest, and the node counter at that survey

    def since(self, name: str, oldest: int, nodes: Iterable[Any], now: int) -> bool:
        """Has the record grown since an earlier survey, by values that were used then?"""
        known, counter = self._before.get(name, (-1, 0))
        if known == oldest:
            return any(order_of(node) > counter and _is_freed(node) for node in nodes)
        self._before.pop(name, None)
        if any(map(_is_freed, nodes)):
            self._before[name] = (oldest, now)
        return False


def _is_freed(node: Any) -> bool:
    inner = order_of(node) != compat.LEAF_ORDER
    return inner and any(state == "freed" for _, state, _ in compat.saved_states(node))
