"""Reads from the tape's clock how long each statement took. The first marks have a time: no look is added for this."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from afterward.follow.path import Place
from afterward.model.timing import Timing
from afterward.observe.marks.statements import COUNTER, FIRST, KEEPS, SHIFT, Statement
from afterward.observe.replay.ended_run import EndedRun


@dataclass(slots=True)
class _Execution:
    nanoseconds: int = 0
    forward: int | None = None  # of them: building what a pass that it called goes through, where that was looked at
    nodes: int = 0
    passes: int = 0
    steps: int = 0


@dataclass(slots=True)
class _Statement:
    executions: dict[int, _Execution] = field(default_factory=dict)  # by the moment it began
    fetches: int | None = None  # the number of a loop whose next item was fetched before the next mark


def timings(after: EndedRun) -> Iterator[Timing]:
    """The statements that ran more than once while times were written, with what is known of them."""
    table, site = after.places.table, after.places.sources.site
    for number, statement in _statements(after).items():
        again = list(statement.executions.values())[1:]
        if again:
            whole = int(median(one.nanoseconds for one in again)) * len(again)  # what interrupts a machine says nothing
            looked = [one.forward / one.nanoseconds for one in again if one.forward is not None and one.nanoseconds]
            yield Timing(
                site(table[number]),
                len(again),
                whole,
                sum(one.nodes for one in again),
                sum(one.passes for one in again),
                sum(one.steps for one in again),
                site(table[statement.fetches]) if statement.fetches is not None else None,
                int(median(looked) * whole) if looked else 0,
            )


def _statements(after: EndedRun) -> dict[int, _Statement]:
    """From each mark to the next, the statement of the first one ran, or the one that it has returned to."""
    recorder, table = after.recorder, after.places.table
    marks, times, start = after.first_marks, recorder.times(), recorder.timed_from
    ours, looked = Counter[int](), dict[int, int]()
    for moment, begun, ended in recorder.own_times:
        ours[moment - 1] += ended - begun
        looked.setdefault(moment - 1, begun)
    passes, steps = (Counter(event.moment - 1 for event in events) for events in (after.passes, after.steps))
    counters = {run.moment - 1: run.counter for run in reversed(after.passes)}
    found: dict[int, _Statement] = {}
    for moment in range(start, min(start + len(times), len(marks), len(after.trail)) - 1):
        mark, then, place = marks[moment], marks[moment + 1], after.trail[moment]
        if table[then >> SHIFT].flags & KEEPS:
            continue  # marks were switched off in between: other statements ran, too
        statement = found.setdefault(place.number, _Statement())
        execution = statement.executions.setdefault(place.moment, _Execution())
        fetched = _fetched(after.trail[moment + 1], table[then >> SHIFT])
        statement.fetches = statement.fetches if fetched is None else fetched
        passed = times[moment + 1 - start] - times[moment - start] - ours[moment]
        execution.nanoseconds += max(passed, 0)
        if moment in looked and counters.get(moment, 0) > mark & COUNTER:  # it had built something when it called
            execution.forward = (execution.forward or 0) + max(looked[moment] - times[moment - start], 0)
        execution.nodes += max((then & COUNTER) - (mark & COUNTER), 0)
        execution.passes += passes[moment]
        execution.steps += steps[moment]
    return found


def _fetched(place: Place, statement: Statement) -> int | None:
    """The loop whose next item came before a statement: the first of a body has the only mark that tells of it."""
    again = statement.flags & FIRST and place.iterations and place.iterations[-1][2] > 1
    return place.iterations[-1][0] if again else None
