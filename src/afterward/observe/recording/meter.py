"""Measures a program that is run to prove a patch: passes survived, graph bytes, gradients of the first steps.

A proof may cost time, so every pass is looked at here; a watched program is never measured like this.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from afterward.observe.failure.walk import look, roots_of
from afterward.observe.recording.engine import Hook

STEPS = 3  # optimizer steps whose gradients are kept
NUMBERS = 4096  # of each gradient, evenly spread

Gradient = tuple[float, ...]


@dataclass
class Meter:
    """What one proof run has shown so far. `enough` is called, with the reason, once it may stop."""

    limit: int | None = None
    deadline: float | None = None  # on the monotonic clock
    enough: Callable[[str], None] | None = None
    passes: int = 0
    sizes: list[int] = field(default_factory=list)  # graph bytes that each pass found
    steps: list[dict[int, Gradient]] = field(default_factory=list)  # by step: parameter (its place) -> its gradient
    reached: set[int] = field(default_factory=set)  # places of parameters that had a gradient at any step
    hungry: int = 0  # steps that found no gradient at all
    fed: dict[int, bool] = field(default_factory=dict)  # by optimizer: has one of its steps found a gradient?
    _places: dict[int, int] = field(default_factory=dict)

    def around(self, begins: Hook) -> Hook:
        """The observer's hook on passes, with the measuring before it."""

        def measured(outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            self._pass_begins(outputs, args)
            begins(outputs, args, kwargs)

        return measured

    def _pass_begins(self, outputs: Any, args: tuple[Any, ...]) -> None:
        if self.enough is not None:
            if self.limit is not None and self.passes >= self.limit:
                self.enough("passes")
            if self.deadline is not None and time.monotonic() > self.deadline:
                self.enough("time")
        self.passes += 1
        try:
            seen = look([node for node, _ in roots_of(outputs)], (args[3] if len(args) > 3 else ()) or ())
        except Exception:  # a graph that can not be read is not measured
            seen = None
        if seen is not None:
            self.sizes.append(seen[1])

    def before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """The gradients that an optimizer is about to use."""
        try:
            found: dict[int, Gradient] = {}
            fed = False
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    place = self._places.setdefault(id(parameter), len(self._places))
                    if parameter.grad is None:
                        continue
                    fed = True
                    self.reached.add(place)
                    if len(self.steps) < STEPS:
                        found[place] = _numbers(parameter.grad)
            self.hungry += not fed
            self.fed[id(optimizer)] = fed or self.fed.get(id(optimizer), False)
            if len(self.steps) < STEPS:
                self.steps.append(found)
        except Exception:  # an optimizer of another make
            return


def _numbers(gradient: Any) -> Gradient:
    flat = gradient.detach().to("cpu").to_dense().reshape(-1) if gradient.is_sparse else gradient.detach().reshape(-1)
    stride = max(1, flat.numel() // NUMBERS)
    return tuple(float(x) for x in flat[::stride][:NUMBERS].tolist())
