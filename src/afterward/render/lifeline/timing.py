"""Sorts moments into columns: the steps of the report's loop, and what lies before, between and after them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from afterward.model.history import History, Pass
from afterward.model.reuse import Reuse
from afterward.model.site import Iteration, Where
from afterward.render.lifeline.story import Column

BEFORE, AFTER = -1, 1 << 60
OF_LOOP = {BEFORE: "before the loop", AFTER: "after the loop"}
OF_CELLS = {BEFORE: "in an earlier cell", AFTER: "in a later cell"}
OF_PASSES = {BEFORE: "beforehand"}
STEPS, SLOTS = 4, 20  # columns shown in full, and items in them, as long as nothing needful is left out


@dataclass(frozen=True)
class Clock:
    """Which column a moment belongs to: the iteration of the loop, else the number of the pass."""

    loop: Iteration | None = None
    starts: tuple[int, ...] = ()  # moments at which a new column begins, where no loop separates them
    began: int = 0  # the first moment that is known to lie in the loop
    inner: frozenset[int] = frozenset()  # calls that belong to one pass each, where no loop separates them
    names: Mapping[int, str] = field(default_factory=dict)  # columns with names of their own: cells of a notebook

    def column(self, where: Where | None, moment: int) -> int:
        if self.starts:
            around = where is not None and self.inner.isdisjoint(level.call for level in where.levels)
            if moment < self.starts[0] and around and self.inner:
                return BEFORE
            return 1 + sum(start < moment for start in self.starts)
        if self.loop is None:
            return 1
        number = where.iteration_of(self.loop) if where is not None else None
        if number is not None:
            return number
        return BEFORE if moment < self.began else AFTER

    def title(self, column: int) -> str:
        if self.loop is None and not self.starts:
            return ""
        around = OF_PASSES if self.loop is None else OF_CELLS if self.names else OF_LOOP
        return around.get(column) or self.names.get(column, f"step {column}")


def is_step(title: str) -> bool:
    """Does this title name a step, or what lies around them?"""
    return bool(title) and not any(title in around.values() for around in (OF_LOOP, OF_CELLS, OF_PASSES))


def clock_of(history: History, reuse: Reuse) -> Clock:
    part = reuse.passes_part
    late = reuse.late
    if part is not None and part.how == "calls" and late.where is not None:
        same = [p for p in history.passes if p.where is not None and p.where.site.same_lines(late.where.site)]
        calls = [frozenset(level.call for level in p.where.levels) for p in same if p.where is not None]
        shared = frozenset.intersection(*calls)
        inner = frozenset().union(*calls) - shared
        return Clock(starts=tuple(p.moment for p in same if p.moment < late.moment), inner=inner)
    return clock_for(history, reuse.loop)


def clock_for(history: History, loop: Iteration | None) -> Clock:
    if loop is None:
        return Clock()
    placed: list[tuple[Where | None, int]] = [(node.where, node.moment) for node in history.nodes]
    placed += [(run.where, run.moment) for run in history.passes]
    inside = [moment for where, moment in placed if where is not None and where.iteration_of(loop) is not None]
    iterations = (iteration for where, _ in placed if where is not None for iteration in where.iterations)
    cells = {
        iteration.number: iteration.cell for iteration in iterations if iteration.entry == loop.entry and iteration.cell
    }
    return Clock(loop, (), min(inside, default=0), names=cells)


@dataclass
class Track:
    """Gives every item of the picture its slot, column after column, in the order of time."""

    clock: Clock
    vital: set[int] = field(default_factory=set)  # columns that must be shown
    items: list[tuple[int, int, str, object]] = field(default_factory=list)  # column, moment, kind, what
    slot_of: dict[object, int] = field(default_factory=dict)
    kinds: list[str] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    folded: set[int] = field(default_factory=set)

    def add(self, what: object, kind: str, where: Where | None, moment: int) -> int:
        column = self.clock.column(where, moment)
        self.items.append((column, moment, kind, what))
        return column

    def lay(self, late_column: int) -> None:
        order = sorted({column for column, _, _, _ in self.items})
        room = max(SLOTS * len(order) // max(len(self.items), 1), 1)
        shown = _shown(order, self.vital, min(STEPS, room))
        self.folded = set(order) - shown
        previous: int | None = None
        for column in order:
            if column in self.folded:
                continue
            self._gap(previous, column)
            previous = column
            first = len(self.kinds)
            for _, _, kind, what in sorted((i for i in self.items if i[0] == column), key=lambda i: i[1]):
                self.slot_of[what] = len(self.kinds)
                self.kinds.append(kind)
            self.columns.append(self._column(column, first, column == late_column))

    def _gap(self, previous: int | None, column: int) -> None:
        """Steps that lie between two columns and are not shown: folded, or without a part in the story."""
        if column == BEFORE:
            return
        earliest = min((c for c in self.folded if c < column), default=column) if previous is None else previous + 1
        first, last = max(earliest, 1), column - 1
        if column == AFTER:
            last = max((c for c in self.folded if c != BEFORE and first <= c < AFTER), default=0)
        count = last - first + 1
        if count > 0:
            title = self.clock.title(first) if count == 1 else f"{count:,} more steps"
            self.columns.append(Column(title, len(self.kinds), len(self.kinds), "gap"))
            self.kinds.append("gap")

    def _column(self, column: int, first: int, fails: bool) -> Column:
        last = len(self.kinds) - 1
        if self.clock.loop is None and not self.clock.starts:
            return Column("", first, last, "only", fails)
        if column == BEFORE:
            return Column(self.clock.title(column), first, last, "before", fails)
        if column == AFTER:
            return Column(self.clock.title(column), first, last, "after", fails)
        return Column(self.clock.title(column), first, last, "step", fails)


def _shown(order: list[int], vital: Iterable[int], room: int) -> set[int]:
    """The columns that matter, and of the others those that lie next to them, as far as there is room."""
    if len(order) <= room:
        return set(order)
    shown = set(vital)
    for column in sorted(order, key=lambda c: min(abs(order.index(c) - order.index(v)) for v in shown & set(order))):
        if len(shown) >= room:
            break
        shown.add(column)
    return shown


def old_part(history: History, reuse: Reuse) -> frozenset[int]:
    """The part that was used before. Where that pass was not looked at, it is known by what is freed; but a pass that
    reached a node also reached all that it depends on, even what had nothing to free."""
    if reuse.early is None or reuse.early.used is not None or reuse.write is not None:
        return reuse.stale
    return history.reached(reuse.stale, reuse.stale | reuse.fresh)


def passes_touching(history: History, nodes: frozenset[int], late: Pass) -> list[Pass]:
    """The passes that used some of these nodes, as far as they were looked at."""
    return [run for run in history.passes if run.id != late.id and run.used is not None and run.used & nodes]
