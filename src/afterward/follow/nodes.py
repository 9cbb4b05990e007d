"""Goes through syntax trees, as `ast.walk` and `ast.iter_child_nodes` do and in their order, but for operators and for
contexts (`ast.Load`), which every node has and nobody asks for: these are half of a tree."""

from __future__ import annotations

import ast

_NEVER_NODES = frozenset(
    {
        "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "kwd_attrs", "level", "module", "op",
        "ops", "rest", "simple", "type_comment", "type_ignores",
    }
)  # fmt: skip


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


def inside(node: ast.AST) -> list[ast.AST]:
    """A node and all that is in it, level by level."""
    found = [node]
    for one in found:
        found += children(one)
    return found


def of_file(tree: ast.AST) -> list[ast.AST]:
    """All nodes in the tree of a file, but for itself: worked out once, and kept with the tree."""
    known: list[ast.AST] | None = getattr(tree, "_inside", None)
    if known is None:
        known = inside(tree)[1:]  # with itself in it, it would hold itself alive
        tree._inside = known  # type: ignore[attr-defined]
    return known
