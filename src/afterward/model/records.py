"""What the text of a program says of a container: does it grow for ever, as a record of all steps does?"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from afterward.model.methods import PUTTING
from afterward.model.names import stem

STEPS = 3  # graphs of so many steps make a record
FEW = 2  # where a program was interpreted, and its loops gone through as often as tells something
NEARLY = 0.8  # of all steps so far: a record has something of so many, a window of the last few has less
WINDOW = 100  # what holds so many at most, and forgets the oldest, forgets soon enough


def forgets(nodes: Iterable[ast.AST], name: str) -> bool:
    """Does the program take something out of this name again, keep a part of it (`recent[-5:]`), or put new ones in
    the place of old ones: `pool[k] = image`, where `pool` was filled by `append`?
    """
    nodes = list(nodes)
    replaced = any(_appends(node, stem(name)) for node in nodes) and any(_replaces(node, stem(name)) for node in nodes)
    return replaced or any(_takes_out(node, stem(name)) for node in nodes)


def has_fixed_places(nodes: Iterable[ast.AST], name: str) -> bool:
    """Is it filled under constant keys alone, as by `last["loss"] = loss`? Then each value replaces the one before."""
    keys = []
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PUTTING:
            if stem(ast.unparse(node.func.value)) == stem(name):
                return False
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            keys += [node.slice] if stem(ast.unparse(node)) == stem(name) else []
    return bool(keys) and all(isinstance(key, ast.Constant) for key in keys)


def are_under_keys(names: Sequence[str]) -> bool:
    """Do these values of one container lie under keys, as `last["loss"]` does, not in a row, as `past[3]` does?"""
    return all(_KEY.search(name) for name in names)


_KEY = re.compile(r"""\[["'][^\]]*\]$""")


def _appends(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr == "append" and stem(ast.unparse(node.func.value)) == name


def _replaces(node: ast.AST, name: str) -> bool:
    """`pool[k] = image`; `log[-1] = loss` replaces the newest alone."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
        return False
    by_number = isinstance(node.slice, (ast.Constant, ast.UnaryOp))
    inner = isinstance(node.value, ast.Subscript)
    return not by_number and not inner and stem(ast.unparse(node.value)) == name


def _takes_out(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Delete):
        return any(isinstance(one, ast.Subscript) and stem(ast.unparse(one)) == name for one in node.targets)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
        part = isinstance(node.value.slice, ast.Slice)
        return part and any(stem(ast.unparse(one)) == name for one in node.targets)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("pop", "popleft", "remove") and stem(ast.unparse(node.func.value)) == name
    return False
