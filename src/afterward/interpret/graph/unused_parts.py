"""Parts of what a stand-in network returns that no pass went through: nothing shows that they have a graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from afterward.interpret.graph.graph import GraphNode
    from afterward.interpret.machine.machine import Machine

Edge = tuple["GraphNode", int]


def are_unused_parts(machine: Machine, values: Iterable[Edge]) -> bool:
    """`loss, accuracy = model(x)`: do these come out of parts alone that no pass went through, of any call?"""
    mine = set(_parts(machine, values))
    if not mine:
        return False
    return mine.isdisjoint(part for made in machine.passes for part in _parts(machine, made.roots))


def _parts(machine: Machine, starts: Iterable[Edge]) -> Iterator[int]:
    starts = list(starts)
    under = machine.graph.reach(node for node, _ in starts)
    if any(one.parts > 1 for one in under):
        yield from (slot for node, slot in starts if node.parts > 1)
        yield from (slot for one in under for node, slot in one.next_functions if node.parts > 1)
