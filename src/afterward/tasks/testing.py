"""A watch over the tests of a test run, one after the other."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from afterward.model.diagnosis import Diagnosis
from afterward.tasks.run import Watched, joinable
from afterward.tasks.since import Start, now, silent_since


class TestWatch:
    """Begins before the tests are loaded, so that their statements are marked, and lasts for the whole run."""

    __test__ = False  # pytest collects what is called so

    def __init__(self) -> None:
        self._hooks = ExitStack()
        self._watched: Watched | None = None
        self._since = Start()

    def begin(self, config: Any) -> None:
        from afterward.observe.marks.importing import imports_marked
        from afterward.observe.marks.pytest_modules import pytest_modules_marked
        from afterward.observe.recording.session import Session

        session = Session()
        watched = self._watched = Watched(session)
        session.on_broken, session.on_again = watched.broken, watched.broken_again
        statements = session.recorders.statements
        with ExitStack() as hooks:
            hooks.callback(session.stop)
            hooks.enter_context(imports_marked(statements, session.gap, session.imported))
            hooks.enter_context(pytest_modules_marked(statements, session.gap, config))
            hooks.enter_context(joinable(watched))
            session.start()
            self._hooks = hooks.pop_all()

    def end(self) -> None:
        self._hooks.close()

    def test_begins(self) -> None:
        if self._watched is not None:
            self._since = now(self._watched)

    def test_failed(self, error: BaseException) -> None:
        if self._watched is not None:
            self._watched.look_into(error)

    def findings_of(self, error: BaseException) -> list[Diagnosis]:
        """What was found about the error that ended a test, or about one behind it."""
        watched = self._watched
        return [watched.findings[number] for number in sorted(watched.escaped(error))] if watched is not None else []

    def silent(self, codes: tuple[str, ...]) -> list[Diagnosis]:
        """What raised nothing in the test that has just run, and is wrong all the same."""
        if self._watched is None:
            return []
        return [one for one in silent_since(self._watched, self._since) if not codes or one.code in codes]
