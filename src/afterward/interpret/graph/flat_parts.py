"""Finds parts of a loss that have a value and no history, because `autograd.grad` made them without a graph."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from afterward.interpret.graph.graph import Cutting, GraphNode
from afterward.model.history import BY_GRAD, Fed
from afterward.model.operations import ADDING, operation
from afterward.model.site import Site

if TYPE_CHECKING:
    from afterward.interpret.library.torch.passes import PassMade
    from afterward.interpret.machine.machine import Machine


def find_flat_parts(machine: Machine) -> Iterator[Fed]:
    """The derivatives without a graph that were added to what a pass starts from."""
    taken = {one.where: one.number for one in machine.passes if one.call == "grad" and not one.creates}
    for one in machine.passes:
        for node in _sums(one) if one.call == "backward" else ():
            for cut in node.given:
                if cut.how == BY_GRAD and cut.where in taken and node.where is not None:
                    yield Fed(taken[cut.where], one.number, _summand(machine, node.where.site, cut), node.where)


def _sums(one: PassMade) -> Iterator[GraphNode]:
    """The additions that are met from what a pass starts from by going through sums alone."""
    todo, seen = [node for node, _ in one.roots], set[int]()
    while todo:
        node = todo.pop()
        kind = operation(node.name)
        if node.number in seen or kind not in ADDING:
            continue
        seen.add(node.number)
        todo += [below for below, _ in node.next_functions]
        if kind in ("Add", "Sub"):
            yield node


def _summand(machine: Machine, site: Site, cut: Cutting) -> str:
    """The name by which a statement adds what a cut left, if it has one."""
    statement = machine.statements.get((site.file, site.line, site.column))
    names = machine.account.cut_names.get(cut.site, {})
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
            return node.id
    return cut.name or "a derivative"
