"""Tells a record from a window of the last few: what takes something out again does not grow for ever."""

from __future__ import annotations

import ast


def forgets(tree: ast.Module, name: str) -> bool:
    """Does a statement of a file take something out of this name, or keep a part of it: `recent[-5:]`?"""
    last = _last(name)
    return any(_takes_out(node, last) for node in ast.walk(tree))


def _takes_out(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Delete):
        return any(isinstance(one, ast.Subscript) and _last(ast.unparse(one)) == name for one in node.targets)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
        part = isinstance(node.value.slice, ast.Slice)
        return part and any(_last(ast.unparse(one)) == name for one in node.targets)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("pop", "popleft", "remove") and _last(ast.unparse(node.func.value)) == name
    return False


def _last(text: str) -> str:
    """`self.store[key]` is kept in `store`."""
    return text.split("[")[0].split(".")[-1]
