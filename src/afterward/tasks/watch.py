"""Watch from inside a program that `afterward run` did not start."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING

from afterward.model.diagnosis import Diagnosis, Report
from afterward.model.saved import SavedRun
from afterward.tasks.run import Watched, joinable, our_imports, running
from afterward.tasks.since import Start, now, silent_since

if TYPE_CHECKING:
    from afterward.tasks.run import Note


class Watch:
    """Within this block, a backward pass that fails raises with the diagnosis attached as a note.

    Where something is watching already (`afterward run`, a notebook's extension, another watch), this one joins it.
    """

    def __init__(self, note: Note) -> None:
        self._note = note
        self._hooks: ExitStack | None = None
        self._watched: Watched | None = None
        self._began = False
        self._since = Start()
        self._until: int | None = None  # findings that a joined watch makes after this block are not ours
        self._silent: tuple[Diagnosis, ...] = ()
        self._escaped: set[int] = set()  # never the error itself: it holds the frames, and they hold tensors

    def __enter__(self) -> Watch:
        if self._hooks is not None:
            raise RuntimeError("this watch is already on")
        self._began = not running
        if self._began:
            self._begin()
        else:
            self._watched, self._hooks = running[-1], ExitStack()
        assert self._watched is not None
        self._since, self._until = now(self._watched), None
        self._silent, self._escaped = (), set()
        return self

    def _begin(self) -> None:
        with our_imports():
            from afterward.observe.marks.importing import imports_noticed
            from afterward.observe.marks.lines import lines_marked
            from afterward.observe.recording.session import Session

        session = Session()
        self._watched = Watched(session, self._note)
        session.on_broken, session.on_again = self._watched.broken, self._watched.broken_again
        with ExitStack() as hooks:
            hooks.callback(session.stop)
            session.start()
            hooks.enter_context(imports_noticed(session.recorders.statements, session.gap, session.imported))
            hooks.enter_context(lines_marked(session.recorders, session.gap))
            hooks.enter_context(joinable(self._watched))
            self._hooks = hooks.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._watched is not None:
            self._watched.look_into(error)
            self._escaped = self._watched.escaped(error)
            if error is None and len(self._watched.findings) == self._since.findings:
                self._look_back(self._watched)
            self._until = len(self._watched.findings)
        if self._hooks is not None:
            self._hooks.close()
            self._hooks = None

    def _look_back(self, watched: Watched) -> None:
        if not watched.session.recorders.is_marking():
            return  # what a debugger has left of the marks names other lines
        if self._began:
            watched.look_back()
        else:  # the watch that was joined goes on: what it makes of the whole is its own business
            self._silent = silent_since(watched, self._since)

    def report(self) -> Report:
        """What was found so far, as values."""
        if self._watched is None:
            return Report(tuple(sys.argv))
        with our_imports():
            report = self._watched.report(sys.argv, None, None, escaped=self._escaped)
        return replace(report, findings=(*report.findings[self._since.findings : self._until], *self._silent))

    def saved(self) -> SavedRun:
        """The same with the histories and the source: what the report page is made of."""
        report = self.report()
        return self._watched.saved(report, self._since.findings) if self._watched is not None else SavedRun(report)
