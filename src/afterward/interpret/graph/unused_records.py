"""Looks for records that keep graphs which no backward ever uses: the losses of an evaluation, say.

When a loop ends, what its body collects (`values.append(...)`, `total += ...`) is noted. Only at the end of the run is
it known whether a backward went through any of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from afterward.follow.nodes import kept
from afterward.interpret.graph.graph import GraphNode, Tensor
from afterward.interpret.graph.unused_parts import Edge, are_unused_parts
from afterward.interpret.machine.core import site_of
from afterward.interpret.machine.values import Instance, Value
from afterward.model.history import Kept
from afterward.model.records import STEPS
from afterward.model.site import Site

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

_JOINING = ("cat", "concat", "concatenate", "hstack", "vstack")
_INSIDE = ("forward", "__call__")  # what a network collects there is part of its result


@dataclass(slots=True)
class Collected:
    """What one statement has collected, in all loops that ended so far."""

    name: str
    edges: list[Edge] = field(default_factory=list)
    iterations: int = 0

    @property
    def nodes(self) -> list[GraphNode]:
        return [node for node, _ in self.edges]


def shows(machine: Machine, loop: ast.stmt, number: int) -> bool:
    """Has a loop collected graphs, in fewer iterations so far than tell a record?"""
    return 0 < number < STEPS and any(True for _ in _collected(machine, loop))


def fills_a_list(machine: Machine, loop: ast.stmt) -> bool:
    """Does a loop put something with a graph into a list in each iteration?"""
    return any(isinstance(value_now(machine, target), list) for _, target, _ in _collected(machine, loop))


def note(machine: Machine, loop: ast.stmt) -> None:
    """A loop is over: what has its body collected?"""
    frame = machine.frame
    loops = {site_of(frame.file, loop), *(one.loop for around in machine.frames for one in around.iterations)}
    for statement, target, edges in _collected(machine, loop):
        nodes = [node for node, _ in edges]
        count = _iterations(filter(_uses_parameters, machine.graph.reach(nodes)), loops)
        if isinstance(value_now(machine, target), list):
            count = min(count, _iterations(nodes, loops))
        site = site_of(frame.file, statement)
        found = machine.account.collected.setdefault(site, Collected(ast.unparse(target)))
        found.edges += edges
        found.iterations = max(found.iterations, count)


def _iterations(nodes: Iterable[GraphNode], loops: set[Site]) -> int:
    """In how many iterations of a loop, or of one around it, some nodes were made, since it was last begun."""
    wheres = (tuple(one.where.iterations) for one in nodes if one.where)
    innermost = {
        (inside[-1].entry, inside[-1].number)
        for where in wheres
        if (inside := [one for one in where if one.loop in loops])
    }
    newest = max((entry for entry, _ in innermost), default=0)
    return sum(entry == newest for entry, _ in innermost)


def _uses_parameters(node: GraphNode) -> bool:
    """Is it of a forward pass, not of what is made of its result? Parts of one result are no record of several."""
    return any(one.leaf is not None for one, _ in node.next_functions)


def _collected(machine: Machine, loop: ast.stmt) -> Iterator[tuple[ast.stmt, ast.expr, list[Edge]]]:
    """The statements that collect graphs in a loop, with what they add to, and what is in it by now."""
    if not machine.graph.records or any(frame.function in _INSIDE for frame in machine.frames):
        return
    for statement, target in _collecting(loop):
        value = value_now(machine, target)
        tensors = value if isinstance(value, list) else [value]
        edges = [(one.node, one.slot) for one in tensors if isinstance(one, Tensor) and one.node is not None]
        if edges:
            yield statement, target, edges


def kept_for_nothing(machine: Machine, lost: set[int]) -> Iterator[Kept]:
    """The records that no backward went through, of what an optimizer trains; of a run that came to its end."""
    if machine.account.blind or machine.budget.used > machine.budget.statements:
        return
    used: set[int] = set().union(*(one.used for one in machine.passes))
    trained = {id(leaf) for one in machine.steps for leaf in one.leaves}
    yield from _kept(machine, used | lost, trained)


def kept_in_evaluation(machine: Machine) -> Iterator[Kept]:
    """The records of what networks in evaluation mode compute, which nothing is to go backward through."""
    networks = machine.assumed.networks
    judged = [one.attributes["weight"] for one in networks if one.attributes.get("training") is False]
    if machine.budget.used <= machine.budget.statements:
        yield from _kept(machine, set(), {id(leaf) for leaf in judged})


def _kept(machine: Machine, used: set[int], leaves_of_interest: set[int]) -> Iterator[Kept]:
    for site, found in machine.account.collected.items():
        under = machine.graph.reach(found.nodes)
        own = {one.number for one in under if one.leaf is None}
        if found.iterations < STEPS or own & used:
            continue
        leaves = [_leaves(machine, node) for node in found.nodes]
        of_one = leaves and all(one == leaves[0] for one in leaves) and leaves[0] & leaves_of_interest
        if of_one and not are_unused_parts(machine, found.edges):
            yield Kept(found.name, found.iterations, len(own), 0, site, times=0)


def _leaves(machine: Machine, node: GraphNode) -> frozenset[int]:
    return frozenset(id(one.leaf) for one in machine.graph.reach([node]) if one.leaf is not None)


@kept
def _collecting(loop: ast.stmt) -> list[tuple[ast.stmt, ast.expr]]:
    """The statements of a loop's body that add to something, with what they add to."""
    found: list[tuple[ast.stmt, ast.expr]] = []
    todo: list[ast.AST] = list(getattr(loop, "body", ()))
    while todo:
        one = todo.pop(0)
        if isinstance(one, ast.AugAssign) and isinstance(one.op, ast.Add):
            found.append((one, one.target))
        elif isinstance(one, ast.Assign) and len(one.targets) == 1 and _extends(one.value, one.targets[0]):
            found.append((one, one.targets[0]))
        elif isinstance(one, ast.Expr) and isinstance(one.value, ast.Call):
            called = one.value.func
            if isinstance(called, ast.Attribute) and called.attr == "append":
                found.append((one, called.value))
        elif isinstance(one, (ast.If, ast.With, ast.Try, ast.For, ast.While)):
            todo += [*one.body, *getattr(one, "orelse", ())]
    return found


def _extends(value: ast.expr, target: ast.expr) -> bool:
    """Is what a name gets its own value and more: `total + loss`, `torch.cat([outputs, output])`?"""
    parts: list[ast.expr] = []
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        parts = [value.left, value.right]
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _JOINING:
        parts = [item for one in value.args[:1] if isinstance(one, (ast.List, ast.Tuple)) for item in one.elts]
    return ast.unparse(target) in map(ast.unparse, parts) if parts else False


def value_now(machine: Machine, target: ast.expr) -> Value:
    """What a name, or an attribute of one, holds now."""
    if isinstance(target, ast.Name):
        scope = machine.frame.scope.find(target.id)
        return scope.names[target.id] if scope is not None else None
    if isinstance(target, ast.Attribute):
        owner = value_now(machine, target.value)
        return owner.attributes.get(target.attr) if isinstance(owner, Instance) else None
    return None
