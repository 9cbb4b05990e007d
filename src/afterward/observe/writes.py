"""Finds the statement that wrote over a tensor the graph still needed, when it was no optimizer."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from afterward.model.history import Write
from afterward.model.site import Where
from afterward.observe import compat
from afterward.observe.replay import Place
from afterward.observe.sources import Sources, head


def find_writes(
    sources: Sources,
    overwritten: Sequence[tuple[int, Any]],
    trail: Sequence[Place],
    frames: Sequence[FrameType],
    where: Callable[[Place], Where | None],
) -> tuple[Write, ...]:
    """Statements that ran, are written as an in-place change, and whose target shares memory with a spoilt value.

    A target is looked up in the frames that are still alive; one that can no longer be looked up is taken
    only where it is the one in-place change between the value and the failing pass.
    """
    if not overwritten:
        return ()
    oldest = min(order for order, _ in overwritten)
    storages = {pointer for _, tensor in overwritten if (pointer := _pointer(tensor)) is not None}
    found: list[Write] = []
    known: dict[int, list[ast.expr]] = {}
    loose: list[tuple[Place, ast.expr]] = []
    for place in trail:
        if place.number not in known:
            statement = sources.statement(place.number)
            known[place.number] = _written(statement) if statement is not None else []
        for target in known[place.number]:
            value = _look_up(target, frames)
            if value is None:
                loose.append((place, target))
            elif _pointer(value) in storages:
                found += _write(place, target, where, oldest)
    if not found and len({id(target) for _, target in loose}) == 1:
        for place, target in loose:
            found += _write(place, target, where, oldest)
    return tuple(found)


def _write(
    place: Place, target: ast.expr, where: Callable[[Place], Where | None], oldest: int
) -> list[Write]:
    spot = where(place)
    if spot is None or place.order_at is None or place.order_at <= oldest:
        return []
    return [Write(spot, ((place.order_at) << 40) + place.moment + 1, ast.unparse(target))]


def _written(statement: ast.stmt) -> list[ast.expr]:
    """What a statement changes in place: `x += 1`, `x[i] = y`, `x.clamp_(...)`, `x.data = ...`, `out=x`."""
    found: list[ast.expr] = []
    if isinstance(statement, ast.AugAssign):
        found.append(_base(statement.target))
    if isinstance(statement, ast.Assign):
        found += [_base(t) for t in statement.targets if isinstance(t, ast.Subscript)]
    for part in head(statement):
        for node in ast.walk(part):
            if isinstance(node, ast.Call):
                function = node.func
                if (
                    isinstance(function, ast.Attribute)
                    and function.attr.endswith("_")
                    and not function.attr.endswith("__")
                ):
                    inner = [function.value, *node.args[:1]]
                    found += [
                        _base(value)
                        for value in inner
                        if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript))
                    ]
                found += [_base(k.value) for k in node.keywords if k.arg == "out"]
                if any(
                    k.arg == "inplace" and isinstance(k.value, ast.Constant) and k.value.value
                    for k in node.keywords
                ):
                    found += [_base(a) for a in node.args[:1]]
    return found


def _base(target: ast.expr) -> ast.expr:
    """`x[2:3]` and `x.data` write to `x`."""
    while isinstance(target, ast.Subscript) or (
        isinstance(target, ast.Attribute) and target.attr in ("data", "T", "mT")
    ):
        target = target.value
    return target


def _look_up(target: ast.expr, frames: Sequence[FrameType]) -> Any:
    """The value of a name or attribute chain in the living frames, without running any code of the program."""
    chain: list[str] = []
    while isinstance(target, ast.Attribute):
        chain.append(target.attr)
        target = target.value
    if not isinstance(target, ast.Name):
        return None
    for frame in frames:
        for space in (frame.f_locals, frame.f_globals):
            if target.id in space:
                value = space[target.id]
                for attribute in reversed(chain):
                    value = _attribute(value, attribute)
                return value if isinstance(value, compat.torch_module().Tensor) else None
    return None


def _attribute(value: Any, name: str) -> Any:
    space = getattr(value, "__dict__", None) or {}
    for part in (
        space,
        space.get("_parameters") or {},
        space.get("_buffers") or {},
        space.get("_modules") or {},
    ):
        if name in part:
            return part[name]
    return None


def _pointer(tensor: Any) -> int | None:
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (RuntimeError, NotImplementedError, AttributeError):
        return None
