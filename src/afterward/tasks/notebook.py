"""Watch a notebook: cells come one by one, and what they leave behind lives on."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from types import CodeType
from typing import TYPE_CHECKING

from afterward.model.diagnosis import Diagnosis, Report
from afterward.model.history import History
from afterward.model.saved import Chapter
from afterward.tasks.run import Watched, joinable
from afterward.tasks.since import Start, look_since, now

if TYPE_CHECKING:
    from afterward.observe.marks.statements import Statements

KEPT_HISTORIES = 4  # of failed passes: each may hold a hundred thousand nodes


@dataclass(frozen=True, slots=True)
class CellReport:
    """What is to be told about a cell that is over."""

    raised: tuple[Diagnosis, ...] = ()  # behind the exception that ended it
    caught: tuple[Diagnosis, ...] = ()
    silent: tuple[Diagnosis, ...] = ()
    gaps: tuple[str, ...] = ()
    passes: int = 0
    chapters: tuple[Chapter, ...] = ()  # by their place in `findings`

    @property
    def findings(self) -> tuple[Diagnosis, ...]:
        return (*self.raised, *self.caught, *self.silent)


_known: list[Statements] = []


def _statements() -> Statements:
    """One table for all watches over notebooks in this process: functions keep their marks from one to the next."""
    from afterward.observe.marks.statements import Statements

    if not _known:
        _known.append(Statements())
    _known[0].runs.clear()
    return _known[0]


class Notebook:
    """Watches from `start` to `stop`; in between, the door that runs the cells brings them here first."""

    def __init__(self) -> None:
        from afterward.observe.marks.notebook_cells import Cells
        from afterward.observe.recording.session import Session

        self._session = Session()
        self._session.recorders.go_on_with(_statements())
        self._watched = Watched(self._session)
        self._session.on_broken, self._session.on_again = self._watched.broken, self._watched.broken_again
        self._statements = self._session.recorders.statements
        self._cells = Cells(self._statements)
        self._hooks = ExitStack()
        self._ended: set[int] = set()  # findings whose exception ended a cell
        self._sound_since = Start()  # what ran before an error is no ground for silent findings

    def start(self) -> None:
        from afterward.observe.marks.importing import imports_marked

        with ExitStack() as hooks:
            hooks.callback(self._session.stop)
            self._session.start()
            hooks.enter_context(imports_marked(self._statements, self._session.gap, self._session.imported))
            hooks.enter_context(joinable(self._watched))
            self._hooks = hooks.pop_all()

    def stop(self) -> None:
        self._hooks.close()

    # Cells

    def begin(self, tree: ast.Module, name: str, text: str) -> ast.Module:
        """The cell as it is to be run, with marks. `text` is the source that `tree` was parsed from."""
        if self._statements.full:
            self._session.gap("later cells are not marked: too many statements in this notebook")
            return tree
        return self._cells.begin(tree, self._own_name(name, text), text, self._session.recorders.main.moment)

    def inside(self, tree: ast.Module, text: str, offset: int) -> ast.Module:
        """A part of the present cell, `offset` lines into its `text`, that a magic is about to run."""
        return tree if self._statements.full else self._cells.inside(tree, text, offset)

    def file_code(self, source: bytes, file: str) -> CodeType | None:
        """A file of the reader's, compiled with marks; None where it is to be run as it is."""
        from afterward.observe.marks.importing import marked_code
        from afterward.observe.marks.userfiles import is_user_file

        try:
            return marked_code(source, file, self._statements, self._session.gap) if is_user_file(file) else None
        except (SyntaxError, ValueError):
            return None  # IPython meets the same, and says so in its own way

    def _own_name(self, name: str, text: str) -> str:
        """Numbers may begin again (`%reset`): two different cells must not go by one name."""
        number, own = 1, name
        while self._statements.sources.get(own, text) != text:
            number += 1
            own = f"{name} ({number})"
        return own

    def findings_of(self, error: BaseException) -> tuple[int, ...]:
        """The numbers of the findings that explain this exception."""
        return self._watched.findings_of(error)

    def now(self) -> Start:
        return now(self._watched)

    def over(self, since: Start, error: BaseException | None, *, silent: bool = False) -> CellReport:
        """What happened since a cell began. `silent` asks for what raised nothing, too."""
        del self._watched.chapters[:-KEPT_HISTORIES]
        del self._session.histories[:-KEPT_HISTORIES]
        ended = self.now()
        escaped = self._watched.escaped(error)
        self._ended |= escaped
        new = range(since.findings, len(self._watched.findings))
        raised, caught = [n for n in new if n in escaped], [n for n in new if n not in escaped]
        history, quiet = self._silent(since) if silent and error is None and not new else (History(), ())
        if error is not None and ended.passes > since.passes:
            self._sound_since = ended
        found = self._watched.findings
        return CellReport(
            tuple(found[n] for n in raised),
            tuple(replace(found[n], caught=True) for n in caught),
            quiet,
            tuple(gap.what for gap in self._session.gaps) if silent else (),
            ended.passes - since.passes,
            (*self._chapters([*raised, *caught]), Chapter(history, tuple(range(len(quiet))))),
        )

    def _chapters(self, numbers: list[int]) -> list[Chapter]:
        """The histories that are kept of these findings, which are shown in this order."""
        places = {number: place for place, number in enumerate(numbers)}
        return [
            Chapter(chapter.history, tuple(places[n] for n in chapter.findings if n in places))
            for chapter in self._watched.chapters
        ]

    def gap(self, what: str) -> None:
        self._session.gap(what)

    # Reports

    def report(self) -> tuple[Report, tuple[Chapter, ...]]:
        """Everything so far, with the histories that are kept."""
        report = self._watched.report(("notebook",), None, None)
        told = tuple(replace(f, caught=f.caught and n not in self._ended) for n, f in enumerate(report.findings))
        history, quiet = self._silent(self._sound_since)
        silent = Chapter(history, tuple(range(len(told), len(told) + len(quiet))))
        return replace(report, findings=(*told, *quiet)), (*self._watched.chapters, silent)

    def _silent(self, since: Start) -> tuple[History, tuple[Diagnosis, ...]]:
        return look_since(self._watched, max(since, self._sound_since, key=lambda start: start.mark))

    @property
    def sources(self) -> Mapping[str, str]:
        """All text that was marked, cells by their names."""
        return self._statements.sources

    def texts(self, findings: tuple[Diagnosis, ...]) -> dict[str, str]:
        """The source of every cell that these findings show."""
        sites = [label.site for found in findings for label in (found.primary, *found.secondary)]
        sources, names = self._statements.sources, {name for runs in self._statements.runs.values() for _, name in runs}
        return {site.file: sources[site.file] for site in sites if site.file in names and site.file in sources}
