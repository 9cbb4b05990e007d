"""Losses for which a graph was kept, or that nothing reads, and that no pass ever uses: a part that was forgotten."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from afterward.interpret.graph.account import Assigned
from afterward.interpret.graph.graph import GraphNode
from afterward.interpret.machine.core import site_of
from afterward.model.history import LeftOut, operation

if TYPE_CHECKING:
    from afterward.interpret.library.torch.passes import PassMade
    from afterward.interpret.machine.machine import Machine

_REDUCES = ("Mean", "Sum", "BinaryCrossEntropy", "Nll", "Norm", "LinalgVectorNorm")
_COMBINES = ("Add", "Sub", "Mul", "Div", "Neg", "Pow")


def find_left_out(machine: Machine, lost: set[int], owners: dict[int, list[str]]) -> Iterator[LeftOut]:
    """Named losses that depend on a graph which `retain_graph=True` or `create_graph=True` kept, and that no pass
    uses."""
    used = frozenset().union(*(one.used for one in machine.passes))
    yield from _never_read(machine, used, lost, owners)
    kept = _kept_for_nothing(machine)
    if not kept:
        return
    values = [
        (name, value)
        for (_, name), several in machine.account.assigned.items()
        for value in several
        if value.node.number not in used and value.node.number not in lost and _is_loss(value.node)
        if not name.startswith("_") and not _is_only_put_together(machine.graph.reach([value.node]), used)
    ]
    found: dict[tuple[str, int, int], list[LeftOut]] = {}
    for one in kept:
        for name, value in values:
            part = _left_out(machine, one, name, value, owners)
            if part is not None:
                found.setdefault((name, part.site.line, one.where.site.line), []).append(part)
    yield from (replace(parts[0], times=len(parts)) for parts in found.values())


def _never_read(
    machine: Machine, used: frozenset[int], lost: set[int], owners: dict[int, list[str]]
) -> Iterator[LeftOut]:
    """Losses that a function computes beside the one it is user for, of the same forward pass, and then forgets."""
    found: dict[tuple[str, ast.stmt], list[LeftOut]] = {}
    for name, value in machine.account.never_read:
        if value.node.number in used or value.node.number in lost or not _is_loss(value.node):
            continue
        under = machine.graph.reach([value.node])
        if _is_only_put_together(under, used):
            continue
        leaves = {id(one.leaf) for one in under if one.leaf is not None} & set(owners)
        shared = {one.number for one in under if one.leaf is None}
        user = next((one for one in machine.passes if one.call == "backward" and shared & one.used), None)
        if leaves and user is not None:
            site = site_of(value.file, value.statement)
            part = LeftOut(name, user.receiver, len(shared), 0, len(leaves), site, user.where.site)
            found.setdefault((name, value.statement), []).append(part)
    yield from (replace(parts[0], times=len(parts)) for parts in found.values())


def _is_only_put_together(under: list[GraphNode], used: frozenset[int]) -> bool:
    """Is all but sums and differences of it used: a figure to be printed, made of losses that had their own pass?"""
    left = [one for one in under if one.leaf is None and one.number not in used]
    return all(operation(one.name).startswith(_COMBINES) for one in left)


def _kept_for_nothing(machine: Machine) -> list[PassMade]:
    """Passes that kept a graph which no later one walks. Where another execution of the same statement kept one that
    is used, this one is an evaluation that goes the way of training: an adaptation to a task, say."""
    keeping = [(one, _is_used(machine, one)) for one in machine.passes if one.retains or one.creates]
    needed = {one.where.site for one, is_used in keeping if is_used}
    return [one for one, is_used in keeping if not is_used and one.where.site not in needed]


def _is_used(machine: Machine, kept: PassMade) -> bool:
    """Did a later pass walk what this one kept or made?"""
    made = range(*kept.created) if len(kept.created) == 2 else range(0)
    later = [one.used for one in machine.passes if one.moment > kept.moment]
    nodes = {number for number in kept.used if number >= 0}  # of leaves, the numbers are negative: they are not kept
    return any(nodes & used or any(number in made for number in used) for used in later)


def _left_out(
    machine: Machine, kept: PassMade, name: str, value: Assigned, owners: dict[int, list[str]]
) -> LeftOut | None:
    under = machine.graph.reach([value.node])
    made = range(*kept.created) if len(kept.created) == 2 else range(0)
    needs = any(one.leaf is None and (one.number in kept.used or one.number in made) for one in under)
    leaves = {id(one.leaf) for one in under if one.leaf is not None} & set(owners)
    used = next((one for one in machine.passes if one.call == "backward" and one.moment >= kept.moment), None)
    if not needs or not leaves or used is None:
        return None
    return LeftOut(
        name,
        used.receiver,
        sum(one.leaf is None for one in under),
        0,
        len(leaves),
        site_of(value.file, value.statement),
        used.where.site,
        kept_by=kept.where.site,
    )


def _is_loss(node: GraphNode, depth: int = 4) -> bool:
    """Is it one number that was computed from many, or put together from such numbers?"""
    name = operation(node.name)
    if "Loss" in name or name.startswith(_REDUCES):
        return True
    return depth > 0 and name.startswith(_COMBINES) and any(_is_loss(edge, depth - 1) for edge in _inputs(node))


def _inputs(node: GraphNode) -> Iterator[GraphNode]:
    for one, _ in node.next_functions:
        if one.leaf is None:
            yield one
