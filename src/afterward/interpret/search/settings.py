"""What a test asks about that stays as it is while a program runs: flags and modes, set once."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from afterward.follow.nodes import LOOPS, children, inside, kept, of_file
from afterward.interpret.fragments.paths import path_of


def settings_in(test: ast.expr, tree: ast.AST) -> frozenset[str]:
    """The names and attributes that a test asks about, if all of them are set once at most, outside of loops."""
    if any(isinstance(one, (ast.Call, ast.BinOp, ast.Subscript)) for one in ast.walk(test)):
        return frozenset()
    paths = {path for one in _outermost(test) if (path := path_of(one)) is not None}
    changing = _changing(tree)
    return frozenset(paths) if not any(_last(path) in changing for path in paths) else frozenset()


def _last(path: str) -> str:
    """The name, or the attribute with its dot: `args.config` is not what a variable `config` is."""
    return path[path.rfind(".") :] if "." in path else path


def _outermost(test: ast.expr) -> Iterator[ast.expr]:
    todo: list[ast.AST] = [test]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Name, ast.Attribute)):
            yield node
        else:
            todo.extend(children(node))


@kept
def _changing(tree: ast.AST) -> frozenset[str]:
    """Names, and attributes with their dot, that are set more than once, in a loop, or by a loop."""
    times: dict[str, int] = {".training": 2}  # a module's mode, which `train()` and `eval()` set
    for node in of_file(tree):
        weight = 2 if isinstance(node, LOOPS) else 0
        for one in inside(node) if weight else (node,):
            if isinstance(one, (ast.Name, ast.Attribute)) and isinstance(one.ctx, ast.Store):
                name = one.id if isinstance(one, ast.Name) else f".{one.attr}"
                times[name] = times.get(name, 0) + (weight or 1)
    return frozenset(name for name, count in times.items() if count > 1)
