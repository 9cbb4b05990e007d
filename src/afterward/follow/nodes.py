"""Goes through syntax trees, as `ast.walk` and `ast.iter_child_nodes` do and in their order, but for operators and for
contexts (`ast.Load`), which every node has and nothing asks for: these are half of a tree."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar

_Tree = TypeVar("_Tree", bound=ast.AST)
_Answer = TypeVar("_Answer")

_NEVER_NODES = frozenset(
    {
        "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "module", "op",
        "ops", "rest", "simple", "type_comment", "type_ignores",
    }
)  # fmt: skip


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """By the kind of a node, its fields that may hold nodes; worked out when one is first met."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        fields = () if kind is ast.Constant else kind._fields
        found = self[kind] = tuple(name for name in fields if name not in _NEVER_NODES)
        return found


_FIELDS = _Fields()


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly inside one, in the order of the source."""
    found: list[ast.AST] = []
    for name in _FIELDS[type(node)]:
        value = getattr(node, name, None)
        if type(value) is list:
            found += [one for one in value if isinstance(one, ast.AST)]
        elif value is not None and isinstance(value, ast.AST):
            found.append(value)
    return found


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements directly inside one, those of the arms of a `try` or `match` too."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list):
            yield block
    for arm in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield arm.body


def inside(node: ast.AST) -> list[ast.AST]:
    """A node and all that is in it, level by level."""
    found = [node]
    for one in found:
        found += children(one)
    return found


def kept(ask: Callable[[_Tree], _Answer]) -> Callable[[_Tree], _Answer]:
    """The answers of a question about trees, each kept with its tree: worked out once, and gone with it."""
    name, unknown = f"_{ask.__module__}.{ask.__name__}", object()

    @wraps(ask)
    def answer(tree: _Tree) -> _Answer:
        known: Any = tree.__dict__.get(name, unknown)
        if known is unknown:
            known = tree.__dict__[name] = ask(tree)
        return known  # type: ignore[no-any-return]

    return answer


@kept
def of_file(tree: ast.AST) -> list[ast.AST]:
    """All nodes in the tree of a file, but for itself: with itself in it, it would hold itself alive."""
    return inside(tree)[1:]
