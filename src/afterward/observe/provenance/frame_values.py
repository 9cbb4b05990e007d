"""What an expression of the program stood for in a frame, worked out without running code of the program's."""

from __future__ import annotations

import ast
import types
from collections import OrderedDict
from types import FrameType
from typing import Any

from afterward.observe import compat
from afterward.observe.marks.stack import locals_of

NOT_THERE = object()
_OF_A_MODULE = ("_parameters", "_buffers", "_modules")  # where a module keeps what it shows as attributes


def value_of(expression: ast.expr, frame: FrameType) -> Any:
    """What a chain of names, attributes and items stood for, without running code of the program's."""
    if isinstance(expression, ast.Constant):
        return expression.value
    if isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.USub):
        value = value_of(expression.operand, frame)
        return -value if type(value) is int else NOT_THERE
    if isinstance(expression, ast.Name):
        return locals_of(frame).get(expression.id, frame.f_globals.get(expression.id, NOT_THERE))
    if isinstance(expression, ast.Attribute):
        return _attribute(value_of(expression.value, frame), expression.attr)
    if isinstance(expression, ast.Subscript):
        return _item(value_of(expression.value, frame), value_of(expression.slice, frame))
    return NOT_THERE


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, types.ModuleType):
        return vars(owner).get(name, NOT_THERE)
    if compat.is_tensor(owner):
        return compat.grad_fn_of(owner) if name == "grad_fn" else NOT_THERE
    if compat.is_node(owner):
        return owner.next_functions if name == "next_functions" else NOT_THERE
    space: dict[str, Any] = getattr(owner, "__dict__", {})
    for part in (space, *(space.get(kept) for kept in _OF_A_MODULE)):
        if isinstance(part, dict) and type(part) in (dict, OrderedDict) and name in part:
            return part[name]
    return NOT_THERE


def _item(owner: Any, key: Any) -> Any:
    if type(owner) in (list, tuple) and type(key) is int and -len(owner) <= key < len(owner):
        return owner[key]
    if isinstance(owner, dict) and type(key) in (str, int):
        return dict.get(owner, key, NOT_THERE)
    if compat.is_container_of_modules(owner):
        inside = vars(owner)["_modules"]
        return _item(list(inside.values()) if type(key) is int else inside, key)
    return NOT_THERE
