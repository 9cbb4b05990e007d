"""How source names a value, and what an expression shows of it by its form alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_SAME_OBJECT = frozenset({"to", "cuda", "cpu", "train", "eval", "float", "double", "half", "to_device", "module"})
_GOES_OVER = frozenset({"enumerate", "zip", "tqdm", "iter", "reversed", "islice", "cycle", "trange", "list"})


def path_of(node: ast.AST) -> str | None:
    """`a.b['c']`, where a value is named without calling anything."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = path_of(node.value)
        return f"{owner}.{node.attr}" if owner is not None else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner = path_of(node.value)
        return f"{owner}[{node.slice.value!r}]" if owner is not None else None
    return None


def place_of(node: ast.AST) -> str | None:
    """The path of a value, also of one of several in a container: `models[*]` for `models[i]`."""
    if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Constant, ast.Slice, ast.Tuple)):
        owner = path_of(node.value)
        return f"{owner}[*]" if owner is not None else None
    return path_of(node)


def object_of(value: ast.expr) -> ast.expr:
    """The value itself, or what `.to(device)` and its kin give back."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SAME_OBJECT:
        value = value.func.value
    return value


def gone_over(node: ast.expr) -> Iterator[ast.expr]:
    """What a loop goes over, without `enumerate` and its kin."""
    if isinstance(node, ast.Call):
        name = path_of(node.func) or ""
        if name.rsplit(".", 1)[-1] in _GOES_OVER:
            for one in node.args:
                yield from gone_over(one)
        return
    yield node


def summands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*summands(node.left), *summands(node.right)]
    return [node]


def is_class(name: str) -> bool:
    """`Transition`, but neither `D`, `MSE` nor `TRM_predict`: what people call classes."""
    return name[:1].isupper() and "_" not in name and any(letter.islower() for letter in name)


def compares(calls: Iterable[ast.expr]) -> bool:
    """Is one of these calls given two things or more that are no constants?"""
    given = (
        [one for one in call.args if not isinstance(one, ast.Constant)] for call in calls if isinstance(call, ast.Call)
    )
    return any(len(several) > 1 for several in given)


def makes(node: ast.expr) -> bool:
    """`Net(...)`, `nn.LSTM(...)`: makes an object, and is no tensor."""
    node = object_of(node)
    return isinstance(node, ast.Call) and (path_of(node.func) or "").rsplit(".", 1)[-1][:1].isupper()
