"""Reads from the source what a loss is made of within one turn of a loop, and whether turns hang together.

Names are compared as chains: what changes `self.count` does not touch `self.net`, what changes `self` does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from afterward.observe.provenance.sources import head

# What may be asked of things that the loss is made of without changing what the next turn makes of them.
_ALLOWED = frozenset(
    {
        "zero_grad", "step", "train", "eval", "parameters", "named_parameters", "state_dict", "size", "dim", "item",
        "numel", "backward",
    }
)  # fmt: skip
_LOOKERS = frozenset({"print", "len", "zip", "enumerate", "range", "float", "int"})


@dataclass
class Making:
    """The statements of a block that make what is wanted, the last first."""

    statements: list[ast.stmt] = field(default_factory=list)
    outside: set[str] = field(default_factory=set)  # what it is made of that comes from before the block
    changed: set[str] = field(default_factory=set)  # whatever the block may change


def making_of(body: list[ast.stmt], last: ast.stmt, wanted: Iterable[ast.expr], own: set[str]) -> Making | None:
    """How a block makes the values of some expressions, up to its statement `last`; None where that can not be told.

    `own` are names that each turn, or each call, is given anew.
    """
    straight = list(_straight(body))
    if last not in straight or any(isinstance(node, _OPAQUE) for one in body for node in ast.walk(one)):
        return None
    making = Making()
    chains = {chain for expression in wanted for chain in chains_read(expression)}
    for statement in reversed(straight[: straight.index(last)]):
        stored = set(_stored(statement))
        if not any(overlap(one, other) for one in stored for other in chains):
            continue
        value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
        if value is None or any("." in chain or "[" in chain for chain in stored):
            return None  # changed in place, or made on one of several ways
        chains = {chain for chain in chains if chain.split(".")[0] not in stored} | set(chains_read(value))
        making.statements.append(statement)
    making.outside = {chain for chain in chains if chain.split(".")[0] not in own}
    inside = {id(node) for one in (*making.statements, last) for node in ast.walk(one)}
    making.changed = {chain for one in body for chain in _changes(one, inside)}
    return making


_OPAQUE = (ast.Global, ast.Nonlocal, ast.Delete, ast.Yield, ast.YieldFrom, ast.Await, ast.FunctionDef, ast.ClassDef)


def hangs_together(outside: Iterable[str], changed: Iterable[str]) -> bool:
    """Does a block change what it is made of?"""
    changes = list(changed)
    return any(overlap(one, other) for one in outside for other in changes)


def overlap(one: str, other: str) -> bool:
    """Is one of them the other, or a part of it?"""
    first, second = one.split("."), other.split(".")
    return first[: len(second)] == second[: len(first)]


def _straight(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that every turn executes, one after the other."""
    for statement in body:
        if isinstance(statement, ast.With):
            yield from _straight(statement.body)
        else:
            yield statement


def chain_of(node: ast.expr) -> str:
    """`self.net` as text; of `rows[3].x` what it hangs on, `rows`."""
    parts: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Attribute):
            parts.insert(0, node.attr)
            node = node.value
        else:
            parts.clear()
            node = node.func if isinstance(node, ast.Call) else node.value
    return ".".join([node.id, *parts]) if isinstance(node, ast.Name) else ""


def chains_read(expression: ast.expr) -> Iterator[str]:
    """What an expression reads, each as far as it goes: `self.net`, not `self`."""
    todo: list[ast.AST] = [expression]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Name, ast.Attribute)) and _is_chain(node):
            yield chain_of(node)
        else:
            todo += ast.iter_child_nodes(node)


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _stored(statement: ast.stmt) -> Iterator[str]:
    """What a statement, or one in it, gives a value or part of a value."""
    for node in ast.walk(statement):
        stores = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load)
        if stores and isinstance(node, ast.expr):
            yield chain_of(node) + ("[]" if isinstance(node, ast.Subscript) else "")


def _changes(statement: ast.stmt, inside: set[int]) -> Iterator[str]:
    """What a statement may change: what it stores to, and what it hands to somebody who may."""
    for chain in _stored(statement):
        yield chain.removesuffix("[]")
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call) or id(node) in inside:
            continue
        called = chain_of(node.func)
        owner, _, method = called.rpartition(".")
        if owner and method not in _ALLOWED:
            yield owner
        if called not in _LOOKERS:
            given = [*node.args, *(word.value for word in node.keywords)]
            yield from (chain_of(one) for one in given if isinstance(one, (ast.Name, ast.Attribute)))


def mentions_gradients(statement: ast.stmt) -> bool:
    """Does a statement, when it runs, read gradients or change them? One sample's gradient may be what is wanted."""
    for node in (node for part in head(statement) for node in ast.walk(part)):
        name = getattr(node, "id", "") or getattr(node, "attr", "")
        if name == "grad" or "clip_grad" in name:
            return True
    return False
