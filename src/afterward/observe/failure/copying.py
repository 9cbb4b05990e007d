"""The way that a deep copy took to what it could not copy: `copy` goes down by attributes and items, a frame each."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import FrameType

from afterward.observe.looking import MODULE_PARTS


def way_of_copy(statement: ast.stmt | None, frames: Iterable[FrameType]) -> str:
    """`model.cache["last"]`, from the frames of `copy`, the outermost first; empty where no `deepcopy` is called."""
    copied = _copied(statement)
    if copied is None:
        return ""
    path, states = ast.unparse(copied), set()
    for frame in frames:
        held = frame.f_locals
        if frame.f_code.co_name == "_reconstruct":
            states.add(id(held.get("state")))
        elif frame.f_code.co_name == "_deepcopy_list":
            path += f"[{len(held['y'])}]"
        elif frame.f_code.co_name == "_deepcopy_dict" and "key" in held:
            key, is_attribute = held["key"], id(held["x"]) in states
            if is_attribute and key in MODULE_PARTS:
                states.add(id(held.get("value")))
            else:
                path += _attribute(key) if is_attribute else _item(key)
    return path


def _attribute(name: str) -> str:
    """`.weight`; a module of a list goes by its number, one of a dictionary by its key."""
    return f".{name}" if name.isidentifier() else f"[{name}]" if name.isdecimal() else _item(name)


def _item(key: object) -> str:
    return f"[{key!r}]" if type(key) in (str, int) else "[...]"


def _copied(statement: ast.stmt | None) -> ast.expr | None:
    """What the statement hands to `deepcopy`."""
    for node in ast.walk(statement) if statement is not None else ():
        called = getattr(node, "func", None)
        if (
            isinstance(node, ast.Call)
            and node.args
            and "deepcopy"
            in (
                getattr(called, "attr", ""),
                getattr(called, "id", ""),
            )
        ):
            return node.args[0]
    return None
