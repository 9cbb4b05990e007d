"""A part of a watch: what happened since a moment, such as the beginning of a notebook's cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History

if TYPE_CHECKING:
    from afterward.tasks.run import Watched


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
    late = history.since(since.moment)
    kept = tuple(one for one in history.kept if one.site is None or (one.site.file, one.site.line) in executed)
    return replace(late, built=replace(late.built, over=False), kept=kept)


def _executed(watched: Watched, since: Start) -> set[tuple[str, int]]:
    """The lines that have begun since."""
    from afterward.observe.marks.statements import SHIFT

    main = watched.session.recorders.main
    statements = main.statements
    numbers = {mark >> SHIFT for mark in main.marks[max(since.mark - main.base, 0) :]}
    return {(statements.file_at(statements.table[n].file), statements.table[n].line) for n in numbers}
