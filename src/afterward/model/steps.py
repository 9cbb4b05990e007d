"""Steps where the loop is a framework's: one execution of a statement in which backward passes repeat.

Where the loop is the program's own, a step is one iteration of it, and the record shows the loop. Where it is a
library's (a trainer, an optimizer that calls a closure, a test runner), the record shows one statement that is being
executed all the while: `trainer.fit(model)`. There a step ends when the same call of backward comes again; what comes
after the last update before that belongs to the next step. Two networks that are trained alternately are one step, for
their calls differ. The steps are written into the record as iterations of a loop, so that every reader counts alike.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import pairwise

from afterward.model.history import History, Pass
from afterward.model.site import Iteration, Level, Site, Where

LIBRARY_LOOP = -(1 << 48)  # entries below this are of loops that the record does not show

Execution = tuple[int, int]  # of a statement: its call and its moment
Key = tuple[object, ...]

OUTSIDE: Execution = (-1, -1)  # stands for the caller of the outermost call: a test runner, a server


@dataclass(frozen=True, slots=True)
class LibraryLoop:
    """The steps within one execution of a statement: each ends at a boundary, and has a number."""

    entry: int
    boundaries: tuple[int, ...]
    numbers: tuple[int, ...]

    def iteration_at(self, moment: int, site: Site) -> Iteration:
        """The step that a moment on the record's clock belongs to."""
        position = bisect_left(self.boundaries, moment)
        since = self.boundaries[position - 1] if position else 0
        return Iteration(site, self.entry, self.numbers[position], since=since)


def with_library_steps(history: History) -> History:
    """The same history, with the steps that a library makes as iterations of a loop."""
    loops = _loops(history)
    if not loops:
        return history
    dated = _Dated(loops)
    return replace(
        history,
        nodes=tuple(replace(one, where=dated.where(one.where, one.moment)) for one in history.nodes),
        passes=tuple(replace(one, where=dated.where(one.where, one.moment)) for one in history.passes),
        steps=tuple(replace(one, where=dated.where(one.where, one.moment)) for one in history.steps),
        writes=tuple(replace(one, where=dated.sure(one.where, one.moment)) for one in history.writes),
    )


class _Dated:
    """Puts steps into places. Many nodes share a place and a step, and then the result too."""

    def __init__(self, loops: dict[Execution, LibraryLoop]) -> None:
        self.loops = loops
        self._known: dict[tuple[int, tuple[int, ...]], Where] = {}
        self._alive: list[Where] = []  # what is known goes by identity

    def where(self, where: Where | None, moment: int) -> Where | None:
        return self.sure(where, moment) if where is not None and moment else where

    def sure(self, where: Where, moment: int) -> Where:
        iterations = {
            depth: loop.iteration_at(moment, level.site)
            for depth, level in enumerate(where.levels)
            if (loop := self.loops.get((level.call, level.moment))) is not None
        }
        outside = self.loops.get(OUTSIDE)
        first = (outside.iteration_at(moment, where.levels[0].site),) if outside is not None else ()
        if not iterations and not first:
            return where
        key = (
            id(where),
            (*(iteration.number for iteration in iterations.values()), *(iteration.number for iteration in first)),
        )
        known = self._known.get(key)
        if known is None:
            self._alive.append(where)
            levels = [
                replace(level, iterations=(*level.iterations, iterations[depth])) if depth in iterations else level
                for depth, level in enumerate(where.levels)
            ]
            levels[0] = replace(levels[0], iterations=(*first, *levels[0].iterations))
            known = self._known[key] = Where(tuple(levels))
        return known


@dataclass(frozen=True, slots=True)
class _Under:
    """A pass as seen from the execution of a statement that it runs under."""

    run: Pass
    child: int | None  # the call of the program's own through which it came, if any
    key: Key | None  # tells two calls of backward in a library apart; None where it was not looked at
    computed_by: frozenset[Key] = frozenset()  # functions of the program's that the library called for it


def _loops(history: History) -> dict[Execution, LibraryLoop]:
    under: dict[Execution, list[_Under]] = {}
    nesting = {run.where.site for run in history.passes if run.where is not None and run.nested}
    for run in history.passes:
        if run.where is None or run.nested or (run.through is None and run.where.site in nesting):
            continue
        levels = run.where.levels
        under.setdefault(OUTSIDE, []).append(_Under(run, levels[0].call, ()))
        for level, inner in pairwise((*levels, None)):
            assert level is not None
            under.setdefault((level.call, level.moment), []).append(_seen_from(run, inner))
    loops = {}
    for execution, passes in under.items():
        if len(passes) > 1 and not _is_one_call(passes):
            groups = _grouped(_with_functions(history, execution, _with_keys(passes)))
            if len(groups) > 1 and _trains_between(history, execution, groups):
                loops[execution] = _loop(history, execution, groups)
    return loops


def _seen_from(run: Pass, inner: Level | None) -> _Under:
    if inner is None:
        return _Under(run, None, run.through)
    return _Under(run, inner.call, (inner.site.file, inner.function))


def _is_one_call(passes: list[_Under]) -> bool:
    """Do all go through one call of the program's own? Then they part further in."""
    return passes[0].child is not None and all(one.child == passes[0].child for one in passes)


def _with_keys(passes: list[_Under]) -> list[_Under]:
    """A pass that was not looked at came, as far as one can tell, from the call that came next the time before."""
    follows: dict[Key | None, Key] = {}
    last: Key | None = next((one.key for one in passes if one.key is not None), None)
    known: list[_Under] = []
    for one in passes:
        key = one.key if one.key is not None else follows.get(last, last)
        if key is not None:
            follows[last] = key
        known.append(replace(one, key=key))
        last = key
    return known


def _grouped(passes: list[_Under]) -> list[list[_Under]]:
    """The passes of each step: a call of backward that comes again begins a new one."""
    groups: list[list[_Under]] = []
    for one in passes:
        if groups and _belongs_to(groups[-1], one):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _belongs_to(group: list[_Under], one: _Under) -> bool:
    same_call = one.child is not None and one.child == group[-1].child
    return same_call or not any(_comes_again(one, other) for other in group)


def _comes_again(one: _Under, other: _Under) -> bool:
    """The same call of backward; by another way through the library, if it computes by the same function of the
    program's: a trainer that accumulates gradients has one for rounds with an update and one for those without."""
    if one.key == other.key or not one.key or not other.key:
        return one.key == other.key
    return one.key[0] == other.key[0] and bool(one.computed_by & other.computed_by)


def _with_functions(history: History, execution: Execution, passes: list[_Under]) -> list[_Under]:
    """With the functions of the program's that the library called since the pass before."""
    moments = [one.run.moment for one in passes]
    called: list[set[Key]] = [set() for _ in passes]
    for node in history.nodes if len({one.key for one in passes}) > 1 else ():
        at = bisect_left(moments, node.moment)
        for level, inner in pairwise(node.where.levels if node.where is not None and at < len(passes) else ()):
            if (level.call, level.moment) == execution:
                called[at].add((inner.site.file, inner.function))
    return [replace(one, computed_by=frozenset(functions)) for one, functions in zip(passes, called, strict=True)]


def _trains_between(history: History, execution: Execution, groups: list[list[_Under]]) -> bool:
    """Does each round compute something, or update? Passes over what is there already are no steps of training."""
    first, last = groups[0][0].run.moment, groups[-1][-1].run.moment
    if any(first < step.moment < last and _is_under(step.where, execution) for step in history.steps):
        return True
    if any(one.child is not None for group in groups for one in group):
        return True
    return any(
        first < node.moment < last and node.where is not None and _came_through(node.where, execution)
        for node in history.nodes
    )


def _is_under(where: Where | None, execution: Execution) -> bool:
    if where is None or execution == OUTSIDE:
        return where is not None
    return any((level.call, level.moment) == execution for level in where.levels)


def _came_through(where: Where, execution: Execution) -> bool:
    """Was it made by a call of the program's own that this statement led to, by way of the library?"""
    return any((level.call, level.moment) == execution for level in where.levels[:-1])


def _loop(history: History, execution: Execution, groups: list[list[_Under]]) -> LibraryLoop:
    boundaries, numbers = [], [1]
    for earlier, later in pairwise(groups):
        last, first = earlier[-1].run, later[0].run
        updates = (s.moment for s in history.steps_between(last.moment, first.moment) if _is_under(s.where, execution))
        boundaries.append(max(updates, default=last.moment))
        numbers.append(numbers[-1] + 1 + _forgotten(last, first) // len(earlier))
    return LibraryLoop(LIBRARY_LOOP - 2 - execution[1], tuple(boundaries), tuple(numbers))


def _forgotten(last: Pass, first: Pass) -> int:
    """How many passes between these two were forgotten: of an endless run the middle is only counted."""
    if last.call != first.call or not last.count or not first.count:
        return 0
    return max(first.count - last.count - 1, 0)
