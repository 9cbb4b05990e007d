"""Numbers with a graph that were given to a name and that no pass uses, beside the passes that use a part of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import GraphNode
from afterward.model.history import Number
from afterward.model.operations import ARITHMETIC, is_loss, operation

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine


def numbers_beside(
    machine: Machine, lost: set[int], owners: dict[int, list[str]], identities: dict[int, int]
) -> Iterator[Number]:
    """The numbers under a name that nothing used, each with every pass that used a part of its graph."""
    used = frozenset().union(*(one.used for one in machine.passes))
    for name, node in machine.account.given.values():
        if node.number in used or node.number in lost or name.startswith("_") or not _is_number(node):
            continue
        under = machine.graph.reach([node])
        parameters = {id(one.leaf) for one in under if one.leaf is not None} & owners.keys()
        inner = {one.number: one for one in under if one.leaf is None}
        for run in machine.passes if parameters else ():
            made = range(*run.created) if len(run.created) == 2 else range(0)
            own = {number: one for number, one in inner.items() if number not in run.used and number not in made}
            if len(own) < len(inner):
                yield Number(
                    name,
                    node.number,
                    run.number,
                    True,
                    under=frozenset(own),
                    sums=frozenset(n for n, one in own.items() if operation(one.name) in ARITHMETIC),
                    takers=frozenset(n for n, one in own.items() if any(below.leaf for below, _ in one.next_functions)),
                    leaves=frozenset(identities[one] for one in parameters if one in identities),
                    parameters=len(parameters),
                )


def _is_number(node: GraphNode, depth: int = 4) -> bool:
    """Is it one number that was computed from many, or put together from such numbers?"""
    if is_loss(node.name):
        return True
    below = (one for one, _ in node.next_functions if one.leaf is None)
    return depth > 0 and operation(node.name) in ARITHMETIC and any(_is_number(one, depth - 1) for one in below)
