"""Tells, now and then while a program runs, how the run stands. It works inside the program's own calls: no thread."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from time import monotonic  # bound here: a program may put another clock in its place
from typing import Any

from afterward.model.progress import Progress
from afterward.observe import compat
from afterward.observe.failure.walk import look, roots_of
from afterward.observe.recording.engine import Hook

REST = 0.2  # seconds between two reports at least
SHARE, LONGEST = 10, 2.0  # a report that takes long is followed by a rest of so many times that long, up to this
KEPT = 240  # sizes

OnProgress = Callable[[Progress], None]


class LiveProgress:
    """Counts every pass and step, and looks at the graph of a pass when a report is due."""

    def __init__(self, on_progress: OnProgress) -> None:
        self.on_progress = on_progress
        self.steps = 0
        self.passes = 0
        self.nodes: deque[int] = deque(maxlen=KEPT)
        self.bytes: deque[int] = deque(maxlen=KEPT)
        self._began = monotonic()
        self._due = self._began
        # A worker that was forked, or another thread, is not to draw on the same terminal.
        self._home = (os.getpid(), threading.get_ident())

    def around(self, begins: Hook) -> Hook:
        """The observer's hook on passes, with the report after it."""

        def reporting(outputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            begins(outputs, args, kwargs)
            self.passes += 1
            now = monotonic()
            if now >= self._due and self._home == (os.getpid(), threading.get_ident()):
                try:
                    self._progress(outputs, args)
                except Exception:  # a view that cannot be drawn is left alone: the program goes on
                    self._due = float("inf")
                else:
                    after = monotonic()
                    self._due = after + max(REST, min(SHARE * (after - now), LONGEST))

        return reporting

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.steps += 1

    def _progress(self, outputs: Any, args: tuple[Any, ...]) -> None:
        inputs = (args[3] if len(args) > 3 else ()) or ()
        shown = None if compat.capturing() else look((node for node, _ in roots_of(outputs)), inputs)
        if shown is not None:
            self.nodes.append(len(shown.orders))
            self.bytes.append(shown.bytes)
        self.on_progress(self.progress())

    def progress(self) -> Progress:
        seconds = monotonic() - self._began
        return Progress(seconds, self.steps, self.passes, tuple(self.nodes), tuple(self.bytes))
