"""What a value of a trial really is: a tensor, or the containers and objects that hold tensors, from the outside in."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterator
from typing import Any

DEPTH = 5
BREADTH = 40  # parts of one value that are looked at

# "tensor", "none", "other", or (kind, the name of its class, ((label, structure), ...)).
Structure = Any


def structure_of(value: Any, depth: int = DEPTH) -> Structure:
    """Plain data about a value. What holds no tensor, and what must stay as it is (a parameter), is "other"."""
    if value is None:
        return "none"
    if hasattr(type(value), "detach") and hasattr(type(value), "requires_grad"):
        return "other" if value.requires_grad and value.is_leaf else "tensor"
    kind = _kind(value) if depth else None
    if kind is None:
        return "other"
    parts = [(label, structure_of(part, depth - 1)) for label, part in _parts(value, kind)]
    if kind == "object":  # what is empty now may be filled later, but is of interest only where nothing else is
        full = [part for part in parts if part[1] not in ("none", "other")]
        parts = full or [part for part in parts if part[1] == "none"]
    empty = kind in ("list", "dict", "deque", "mapping") and not parts  # it may be filled later, too
    interesting = empty or any(structure != "other" for _, structure in parts)
    return (kind, type(value).__name__, tuple(parts)) if interesting else "other"


def _kind(value: Any) -> str | None:
    if isinstance(value, tuple):
        return "namedtuple" if hasattr(value, "_replace") else "tuple" if type(value) is tuple else None
    for kind in (list, dict, deque):
        if type(value) is kind:
            return kind.__name__
    if isinstance(value, dict):
        return "mapping"
    if isinstance(value, type) or not isinstance(getattr(value, "__dict__", None), dict):
        return None
    if dataclasses.is_dataclass(value):
        return "frozen" if getattr(type(value), "__dataclass_params__").frozen else "record"  # noqa: B009
    return "object"


def _parts(value: Any, kind: str) -> Iterator[tuple[str, Any]]:
    found: Iterator[tuple[Any, Any]]
    if kind in ("dict", "mapping"):
        found = ((repr(key), part) for key, part in value.items() if isinstance(key, (str, int)))
    elif kind == "namedtuple":
        found = zip(value._fields, value, strict=False)
    elif kind in ("record", "frozen"):
        found = ((each.name, vars(value).get(each.name)) for each in dataclasses.fields(value))
    elif kind == "object":
        found = ((name, part) for name, part in _attributes(value).items() if str(name).isidentifier())
    else:
        found = ((str(place), part) for place, part in enumerate(value))
    for _, part in zip(range(BREADTH), found, strict=False):
        yield part


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes that a program speaks of; a module keeps its buffers and parts in dictionaries."""
    own = vars(value)
    kept = [part for part in (own.get("_buffers"), own.get("_modules")) if isinstance(part, dict)]
    return {name: part for space in (*kept, own) for name, part in space.items() if not str(name).startswith("_")}
