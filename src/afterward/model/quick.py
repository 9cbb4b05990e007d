"""Frozen values by the hundred thousand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, make_dataclass
from typing import Any, TypeVar, cast

T = TypeVar("T")


def quickly(kind: type[T]) -> Callable[..., T]:
    """What makes such a value of all its fields, in order, in a third of the time: a frozen dataclass sets each by a
    call of its own. A twin with the same slots sets them at once, and then takes the frozen class."""
    twin = make_dataclass(kind.__name__, [(each.name, Any) for each in fields(cast("Any", kind))], slots=True)

    def make(*values: Any) -> T:
        made: Any = twin(*values)
        made.__class__ = kind
        return made  # type: ignore[no-any-return]

    return make
