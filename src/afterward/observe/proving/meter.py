"""Measures a program that is run to prove a patch: how far it came, what its graphs held, and how it trained.

A proof may cost time, so every pass is looked at here; a watched program is never measured like this.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from afterward.model.training import Border, Training
from afterward.observe.compiler import is_traced
from afterward.observe.proving.finite import FiniteLook
from afterward.observe.proving.keeper import Keeper
from afterward.observe.recording.engine import Hook
from afterward.observe.recording.recorder import Recorders


@dataclass
class Meter:
    """What one proof run has shown so far. `enough` is called, with the reason, once it may stop."""

    limit: int | None = None
    deadline: float | None = None  # on the monotonic clock
    enough: Callable[[str], None] | None = None
    border: Border | None = None  # where to look for what one step hands to the next
    finite: FiniteLook | None = None  # looks for the first gradient that is not finite
    passes: int = 0
    sizes: list[int] = field(default_factory=list)  # graph bytes that each pass found
    _keeper: Keeper | None = None
    _recorders: Recorders | None = None

    @property
    def training(self) -> Training:
        return self._keeper.training if self._keeper is not None else Training()

    def begin(self, recorders: Recorders) -> Callable[[], None]:
        """Torch is there: keep a record of training from now on. Returns what ends it."""
        self._recorders = recorders
        if self._keeper is not None:
            return lambda: None
        self._keeper = Keeper(recorders, self.border)
        return self._keeper.install()

    def around(self, begins: Hook) -> Hook:
        """The observer's hook on passes that begin, with the measuring before it."""

        def measured(outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not is_traced(outputs):
                self._stop_if_enough()
                self.passes += 1
                self._keep(lambda keeper: self.sizes.extend(keeper.pass_begins(outputs, args, kwargs)))
                if self.finite is not None and self._recorders is not None:
                    self.finite.pass_begins(self._recorders.current(), outputs)
            begins(outputs, args, kwargs)

        return measured

    def around_failure(self, failed: Hook) -> Hook:
        """The observer's hook on passes that fail."""

        def measured(outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not is_traced(outputs):
                self._keep(Keeper.pass_fails)
            failed(outputs, args, kwargs)

        return measured

    def around_end(self, ended: Hook) -> Hook:
        """The observer's hook on the ends of passes."""

        def measured(outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            if not is_traced(outputs):
                self._keep(Keeper.pass_ends)
                if self.finite is not None:
                    self.finite.pass_ends()
            ended(outputs, args, kwargs)

        return measured

    def before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._keep(lambda keeper: keeper.step_begins(optimizer))

    def after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._keep(lambda keeper: keeper.step_ends(optimizer))

    def _keep(self, note: Callable[[Keeper], None]) -> None:
        """Note something. What cannot be followed (an optimizer of another make) is not proven, and goes on."""
        if self._keeper is None or self._keeper.training.gap:
            return
        try:
            note(self._keeper)
        except Exception as error:
            self._keeper.training.gap = f"{type(error).__name__}: {error}"

    def _stop_if_enough(self) -> None:
        if self.enough is None:
            return
        if self.limit is not None and self.passes >= self.limit:
            self.enough("passes")
        if self.deadline is not None and time.monotonic() > self.deadline:
            self.enough("time")
