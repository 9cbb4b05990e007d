"""A part of a watch: what happened since a moment, such as the beginning of a notebook's cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.site import Site

if TYPE_CHECKING:
    from afterward.tasks.run import Watched

# Of a history, what a look back has noticed: each has the site of a statement.
_NOTICED = ("kept",)


@dataclass(frozen=True, slots=True)
class Start:
    """The state of the record when something began."""

    moment: int = 0  # on the clock of passes and steps
    mark: int = 0
    passes: int = 0
    findings: int = 0


def now(watched: Watched) -> Start:
    from afterward.model.clock import event_moment
    from afterward.observe.node_numbers import next_node

    main = watched.session.recorders.main
    moment = event_moment(next_node(), main.moment)
    return Start(moment, main.moment, main.passes, len(watched.findings))


def silent_since(watched: Watched, since: Start) -> tuple[Diagnosis, ...]:
    """What raised nothing and is wrong all the same, in what ran since. The watch goes on and keeps none of it."""
    return look_since(watched, since)[1]


def look_since(watched: Watched, since: Start) -> tuple[History, tuple[Diagnosis, ...]]:
    """The same, with the part of the history that it was read from."""
    from afterward.rules import diagnose

    history = watched.session.look_back()
    if history is None:
        return History(), ()
    part = _restricted(history, since, _executed(watched, since))
    return part, tuple(one for one in diagnose(part) if one.severity is not Severity.ERROR)


def _restricted(history: History, since: Start, executed: set[tuple[str, int]]) -> History:
    """The part of a history whose statements have run since. What a later cell may still use is not unused yet."""

    def ran(record: Any) -> bool:
        site: Site | None = record.site
        return site is None or (site.file, site.line) in executed

    parts: dict[str, Any] = {name: tuple(filter(ran, getattr(history, name))) for name in _NOTICED}
    late = history.since(since.moment)
    return replace(late, built=replace(late.built, over=False), **parts)


def _executed(watched: Watched, since: Start) -> set[tuple[str, int]]:
    """The lines that have begun since."""
    from afterward.observe.marks.statements import SHIFT

    main = watched.session.recorders.main
    statements = main.statements
    numbers = {mark >> SHIFT for mark in main.marks[max(since.mark - main.base, 0) :]}
    return {(statements.file_at(statements.table[n].file), statements.table[n].line) for n in numbers}
