"""Watch from inside a program that `afterward run` did not start."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from afterward.model.diagnosis import Report
from afterward.tasks.run import Note, Watched

if TYPE_CHECKING:
    from contextlib import ExitStack


class Watch:
    """Within this block, a backward pass that fails raises with the diagnosis attached as a note."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._hooks: ExitStack | None = None
        self._watched: Watched | None = None
        self._error: BaseException | None = None

    def __enter__(self) -> Watch:
        from contextlib import ExitStack

        from afterward.observe.importing import torch_noticed
        from afterward.observe.lines import lines_marked
        from afterward.observe.session import Session

        if self._hooks is not None:
            raise RuntimeError("this watch is already on")
        session = Session()
        self._watched = Watched(session, self._note)
        session.on_broken = self._watched.broken
        with ExitStack() as hooks:
            hooks.callback(session.stop)
            session.start()
            hooks.enter_context(torch_noticed(session.torch_imported))
            hooks.enter_context(lines_marked(session.recorders))
            self._hooks = hooks.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._error = error
        if self._watched is not None and error is None and not self._watched.findings:
            self._watched.look_back()
        if self._hooks is not None:
            self._hooks.close()
            self._hooks = None

    def report(self) -> Report:
        """What was found so far, as values."""
        if self._watched is None:
            return Report(tuple(sys.argv))
        return self._watched.report(sys.argv, self._error, None)
