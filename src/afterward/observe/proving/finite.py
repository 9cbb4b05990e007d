"""Looks for the first operation whose gradient is not finite: what came in was, and what it returned is not.

Every operation of every pass is looked at, which costs time: only a program that failed over such a gradient is run
again like this.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from afterward.model.raised import Extent
from afterward.observe import compat
from afterward.observe.failure.walk import walk
from afterward.observe.node_numbers import order_of
from afterward.observe.recording.recorder import Recorder

_SAVED = "_saved_"


@dataclass(frozen=True, slots=True)
class NotFinite:
    """The operation, by its number, and the values that its gradient was computed from."""

    order: int
    op: str
    extents: tuple[Extent, ...]


@dataclass
class FiniteLook:
    """One run's look. The nodes of a pass are held while it lasts."""

    _nodes: list[Any] = field(default_factory=list)

    def pass_begins(self, recorder: Recorder, outputs: Any) -> None:
        if recorder.not_finite is not None:
            return
        roots = [node for one in _each(outputs) if (node := compat.grad_fn_of(one)) is not None]
        self._nodes = [node for node in walk(roots).nodes if getattr(node, "variable", None) is None]
        for number, node in enumerate(self._nodes):
            node.register_hook(partial(self._look, recorder, number))

    def pass_ends(self) -> None:
        self._nodes = []

    def _look(self, recorder: Recorder, number: int, returned: tuple[Any, ...], given: tuple[Any, ...]) -> None:
        """A hook on one operation: `given` came in, `returned` goes on to what it was computed from."""
        if recorder.not_finite is not None or number >= len(self._nodes):
            return
        if all(_is_finite(one) for one in given) and not all(_is_finite(one) for one in returned):
            node = self._nodes[number]
            incoming = [_extent("gradient", one) for one in given if compat.is_tensor(one)]
            recorder.not_finite = NotFinite(order_of(node), node.name(), (*_saved(node), *incoming))


def _each(outputs: Any) -> list[Any]:
    return [one for one in (outputs if isinstance(outputs, (list, tuple)) else [outputs]) if compat.is_tensor(one)]


def _is_finite(value: Any) -> bool:
    return not compat.is_tensor(value) or bool(value.isfinite().all())


def _saved(node: Any) -> list[Extent]:
    """What an operation has saved, as it was when its gradient was computed."""
    found = []
    for name in (one for one in dir(node) if one.startswith(_SAVED)):
        value = getattr(node, name)
        if compat.is_tensor(value) and value.numel() and value.is_floating_point():
            found.append(_extent(name.removeprefix(_SAVED), value))
    return found


def _extent(name: str, tensor: Any) -> Extent:
    values = tensor.detach().double()
    finite = values[values.isfinite()]
    least, greatest = (float(finite.min()), float(finite.max())) if finite.numel() else (0.0, 0.0)
    return Extent(name, least, greatest, int((values == 0).sum()), values.numel() - finite.numel(), values.numel())
