"""Says of two names, as a program writes them, whether they are those of different places."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from itertools import takewhile

from afterward.follow.reading import Name

_ANY = "[]"  # an item whose key is computed


def all_apart(given: Iterable[Name], read: Name) -> bool:
    """Is none of what was given a value where this name reads?"""
    return all(apart(one, read) for one in given)


def apart(given: Name, read: Name) -> bool:
    """`g.ndata["m"]` is not `g.ndata["h"]`, nor `g.nodes["item"].data["h"]` what lies at `g.nodes["user"].data["h"]`.

    The two are laid beside each other by the last attribute that both have: what comes before it may be called
    differently where it is read (`self.g.ndata` and `g.ndata`).
    """
    one, other = _steps(given.node), _steps(read.node)
    shared = next((step for step in reversed(other) if step in one and not step.startswith("[")), None)
    if shared is None:
        return False
    at, where = (len(steps) - 1 - steps[::-1].index(shared) for steps in (one, other))
    return _items_differ(one[at + 1 :], other[where + 1 :]) or _differ_on_the_way(one[:at], other[:where])


def _items_differ(one: list[str], other: list[str]) -> bool:
    """Do the items that follow, up to an attribute, have keys that are written out and not the same?"""
    pairs = takewhile(lambda two: two[0].startswith("[") and two[1].startswith("["), zip(one, other, strict=False))
    return any(mine != theirs and _ANY not in (mine, theirs) for mine, theirs in pairs)


def _differ_on_the_way(one: list[str], other: list[str]) -> bool:
    """The same of the items that come before. They can be compared where what they are items of has one name."""
    if not one or not other:
        return False
    first, second = (max((n for n, step in enumerate(steps) if step[0] != "["), default=-1) for steps in (one, other))
    if first < 0 or second < 0 or one[first].lstrip(".") != other[second].lstrip("."):
        return False
    return _items_differ(one[first + 1 :], other[second + 1 :]) or _differ_on_the_way(one[:first], other[:second])


def _steps(node: ast.expr) -> list[str]:
    """`g`, `.nodes`, `["item"]`, `.data` of `g.nodes["item"].data`."""
    steps: list[str] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Attribute):
            steps.append(f".{node.attr}")
        else:
            steps.append(f"[{node.slice.value!r}]" if isinstance(node.slice, ast.Constant) else _ANY)
        node = node.value
    return [*([node.id] if isinstance(node, ast.Name) else []), *reversed(steps)]
