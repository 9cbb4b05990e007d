"""Reads from the source what a loss is made of within one turn of a loop, and whether turns hang together."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from afterward.observe.sources import targets

# What may be asked of things that the loss is made of without changing what the next turn makes of them.
_ALLOWED = frozenset(
    {
        "zero_grad",
        "step",
        "train",
        "eval",
        "parameters",
        "named_parameters",
        "state_dict",
        "size",
        "dim",
        "item",
        "numel",
    }
)


@dataclass
class Making:
    """The statements of one turn that make a loss, the last first."""

    loop: ast.For
    statements: list[ast.stmt] = field(default_factory=list)
    outside: set[str] = field(default_factory=set)  # names that come from before the loop

    def expressions(self) -> Iterator[ast.expr]:
        """What is computed to make the loss."""
        for statement in self.statements:
            value = getattr(statement, "value", None)
            if isinstance(value, ast.expr):
                yield value


def making_of(loop: ast.For, swept: ast.stmt) -> Making | None:
    """How a turn makes the loss that `swept` sweeps; None where it can not be told, or where turns hang together."""
    straight = list(_straight(loop.body))
    if swept not in straight or loop.orelse:
        return None
    making = Making(loop)
    wanted = _names(swept)
    for statement in reversed(straight[: straight.index(swept)]):
        if not _stored(statement) & wanted:
            continue
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or not _plain_targets(statement):
            return None  # changed in place, or made on one of several ways
        wanted = (wanted - _stored(statement)) | _names(statement)
        making.statements.append(statement)
    own = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
    making.outside = wanted - own
    return making if not _carried(making, loop) else None


def _straight(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that every turn executes, one after the other."""
    for statement in body:
        if isinstance(statement, ast.With):
            yield from _straight(statement.body)
        else:
            yield statement


def _names(statement: ast.stmt) -> set[str]:
    """Every name that a statement reads."""
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else statement
    return {node.id for node in ast.walk(value) if isinstance(node, ast.Name)} if value is not None else set()


def _stored(statement: ast.stmt) -> set[str]:
    """The names that a statement, or one in it, gives a value or part of a value."""
    found = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    for node in ast.walk(statement):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            found.add(_root(node))
    return found


def _plain_targets(statement: ast.stmt) -> bool:
    return all(target.is_plain for target in targets(statement))


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _carried(making: Making, loop: ast.For) -> bool:
    """Does anything in the loop change what the loss is made of, but for parameters and the turn's own values?"""
    if any(isinstance(node, (ast.Global, ast.Nonlocal, ast.Delete)) for node in ast.walk(loop)):
        return True
    return any(_stored(one) & making.outside or _touches(one, making) for one in loop.body)


def _touches(statement: ast.stmt, making: Making) -> bool:
    """Does a statement hand what the loss is made of to somebody who may change it?"""
    inside = {id(node) for one in making.statements for node in ast.walk(one)}
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call) or id(node) in inside:
            continue
        method = node.func.attr if isinstance(node.func, ast.Attribute) else "backward"
        if _root(node.func) in making.outside and method not in _ALLOWED | {"backward"}:
            return True
        given = [*node.args, *(word.value for word in node.keywords)]
        held = {one.id for one in given if isinstance(one, ast.Name)} & making.outside
        if held and not (isinstance(node.func, ast.Name) and node.func.id in ("print", "len")):
            return True
    return False


def mentions_gradients(statement: ast.stmt) -> bool:
    """Does a statement read gradients, or change them? One sample's gradient may be what is wanted."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Attribute) and node.attr == "grad":
            return True
        if isinstance(node, (ast.Name, ast.Attribute)) and "clip_grad" in (
            getattr(node, "id", "") or getattr(node, "attr", "")
        ):
            return True
    return False
