"""Numbers with a graph that were given to a name and that no pass uses, beside the passes that use a part of it."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import GraphNode
from afterward.model.history import Number
from afterward.model.operations import ARITHMETIC, is_loss, operation

if TYPE_CHECKING:
    from afterward.interpret.library.torch.passes import PassMade
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
        if not parameters:
            continue
        inner = {one.number: one for one in under if one.leaf is None}
        sums = frozenset(n for n, one in inner.items() if operation(one.name) in ARITHMETIC)
        takers = frozenset(n for n, one in inner.items() if any(below.leaf for below, _ in one.next_functions))
        own = inner.keys() - used
        if own <= sums and own.isdisjoint(takers):
            continue  # a sum of what passes have used: a figure
        beside = [(run, left) for run in machine.passes if len(left := _not_used(inner.keys(), run)) < len(inner)]
        leaves = frozenset(identities[one] for one in parameters if one in identities)
        for run, left in beside:
            yield Number(
                name,
                node.number,
                run.number,
                True,
                under=left,
                sums=sums & left,
                takers=takers & left,
                leaves=leaves,
                parameters=len(parameters),
            )


def _not_used(nodes: Set[int], run: PassMade) -> frozenset[int]:
    """The nodes that a pass neither used nor made."""
    left = frozenset(nodes - run.used)
    return left.difference(range(*run.created)) if len(run.created) == 2 else left


def _is_number(node: GraphNode, depth: int = 12) -> bool:
    """Is it one number that was computed from many, or put together from nothing but such numbers? What is divided by
    its own sum is as many numbers as before."""
    if is_loss(node.name):
        return True
    below = [one for one, _ in node.next_functions if one.leaf is None]
    alone = bool(below) and depth > 0 and operation(node.name) in ARITHMETIC
    return alone and all(_is_number(one, depth - 1) for one in below)
