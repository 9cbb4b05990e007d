"""What an expression of the program stood for in a frame, worked out without running code of the program's."""

from __future__ import annotations

import ast
from collections import OrderedDict
from types import FrameType
from typing import Any

from afterward.observe import compat
from afterward.observe.looking import MODULE_PARTS, elements, fields_of, is_a, space_of
from afterward.observe.marks.stack import locals_of

NOT_THERE = object()


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
    if compat.is_tensor(owner):
        return compat.grad_fn_of(owner) if name == "grad_fn" else NOT_THERE
    if compat.is_node(owner):
        return owner.next_functions if name == "next_functions" else NOT_THERE
    fields = fields_of(owner)
    if name in fields:
        return tuple.__getitem__(owner, fields.index(name))
    space = space_of(owner)
    spaces: list[Any] = [space, *(dict.get(space, part) for part in MODULE_PARTS)]
    return next((one[name] for one in spaces if type(one) in (dict, OrderedDict) and name in one), NOT_THERE)


def _item(owner: Any, key: Any) -> Any:
    if is_a(owner, (list, tuple)):
        row = elements(owner)
        return row[key] if type(key) is int and -len(row) <= key < len(row) else NOT_THERE
    if is_a(owner, dict) and type(key) in (str, int):
        return dict.get(owner, key, NOT_THERE)
    if compat.is_container_of_modules(owner):
        inside = vars(owner)["_modules"]
        return _item(list(inside.values()) if type(key) is int else inside, key)
    return NOT_THERE
