"""Where a source calls `step()`."""

from __future__ import annotations

import ast


def step_calls(text: str) -> dict[int, tuple[str, int]]:
    """Lines that call `.step(`, with what it is called on and how many loops stand around it."""
    found: dict[int, tuple[str, int]] = {}

    def visit(node: ast.AST, depth: int) -> None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "step":
            found[node.lineno] = (ast.unparse(node.func.value), depth)
        deeper = depth + isinstance(node, (ast.For, ast.While, ast.AsyncFor))
        for child in ast.iter_child_nodes(node):
            visit(child, deeper)

    try:
        visit(ast.parse(text), 0)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return found
