"""Where something happened: a place in the reader's source, and the way the program got there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Site:
    """A span of source. Lines count from 1, columns from 0 in code points; a line runs many times, so
    a site also says in which step it ran (None: outside the loop that the report speaks of). A step may have a name
    of its own: that of the notebook cell that was run."""

    file: str
    line: int
    end_line: int
    column: int = 0
    end_column: int | None = None
    step: int | None = None
    cell: str = ""
    counted_by: Site | None = field(default=None, compare=False, repr=False)  # the loop whose iterations are the steps

    @property
    def step_name(self) -> str:
        if self.step is None:
            return "an earlier pass"
        return self.cell or f"step {self.step}"

    def same_lines(self, other: Site) -> bool:
        return (self.file, self.line, self.end_line) == (other.file, other.line, other.end_line)


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration of a loop: which loop (its statement), which entry into it, and the how-manyeth iteration."""

    loop: Site
    entry: int
    number: int
    cell: str = ""  # a cell of a notebook, run again and again: the name of this run
    since: int = 0  # when it began, on the record's clock: of a library's loop, which no statement shows


@dataclass(frozen=True, slots=True)
class Level:
    """One call on the stack, at the statement it was executing.

    `call` tells two calls of one function apart, `moment` two executions of one statement.
    """

    call: int
    function: str
    site: Site
    moment: int
    iterations: tuple[Iteration, ...] = ()


@dataclass(frozen=True, slots=True)
class Where:
    """The whole way to a place: the levels of the reader's own code, outermost first."""

    levels: tuple[Level, ...]

    @property
    def site(self) -> Site:
        return self.levels[-1].site

    @property
    def moment(self) -> int:
        return self.levels[-1].moment

    @property
    def iterations(self) -> Iterator[Iteration]:
        for level in self.levels:
            yield from level.iterations

    def iteration_of(self, loop: Iteration) -> int | None:
        """The iteration number in that very run of the loop; None when this place lies outside of it."""
        for iteration in self.iterations:
            if iteration.entry == loop.entry:
                return iteration.number
        return None

    @property
    def innermost_iteration(self) -> Iteration | None:
        iterations = tuple(self.iterations)
        return iterations[-1] if iterations else None

    @property
    def dated_site(self) -> Site:
        """The site of the innermost level, dated by the innermost iteration."""
        return self.site_at(self.innermost_iteration)

    def shared_call(self, other: Where) -> int:
        """How many outer levels are the very same calls: at least the last of them was alive all along."""
        count = 0
        for mine, theirs in zip(self.levels, other.levels, strict=False):
            if mine.call != theirs.call:
                break
            count += 1
            if mine.moment != theirs.moment:
                break  # from here on the two went different ways
        return count

    def runs_under(self, other: Where) -> bool:
        """Was it run by the very execution of the statement that the other place is?"""
        mine = [(level.call, level.moment) for level in self.levels[: len(other.levels)]]
        return mine == [(level.call, level.moment) for level in other.levels]

    def site_at(self, loop: Iteration | None, level: int = -1) -> Site:
        """The site of a level, dated by its iteration of the given loop."""
        iteration = next((t for t in self.iterations if t.entry == loop.entry), None) if loop is not None else None
        if iteration is None:
            return replace(self.levels[level].site, step=None)
        return replace(self.levels[level].site, step=iteration.number, cell=iteration.cell, counted_by=iteration.loop)


def parting(one: Where, other: Where) -> Parting:
    """How two places lie to each other: where the ways to them part."""
    for mine, theirs in zip(one.levels, other.levels, strict=False):
        if mine.call != theirs.call:
            # One statement called a function twice: a closure, a comprehension, a library's loop.
            alike = (mine.site.file, mine.function) == (theirs.site.file, theirs.function)
            return _called_apart(mine, theirs) or Parting("calls" if alike else "statements", None)
        for here, there in zip(mine.iterations, theirs.iterations, strict=False):
            if here.entry != there.entry:
                return Parting("statements", None)
            if here.number != there.number:
                return Parting("iterations", there)
        if len(mine.iterations) < len(theirs.iterations):
            return Parting("outside", theirs.iterations[len(mine.iterations)])
        if len(mine.iterations) > len(theirs.iterations):
            return Parting("after", mine.iterations[len(theirs.iterations)])
        if mine.moment != theirs.moment:
            return Parting("statements", None)
    return Parting("same", None)


def _called_apart(mine: Level, theirs: Level) -> Parting | None:
    """Two calls from outside of the program's own code, as a test runner makes them, are two iterations of a loop."""
    for here, there in zip(mine.iterations[:1], theirs.iterations[:1], strict=False):
        if here.entry == there.entry and here.number != there.number:
            return Parting("iterations", there)
    return None


@dataclass(frozen=True, slots=True)
class Parting:
    """`how` is "iterations" (same loop, other iteration: `loop` is the later one's), "outside" (the first place lies
    before or around the loop that holds the second), "after" (the other way round), "statements" (one
    after the other), "calls" (one statement called a function twice), or "same"."""

    how: str
    loop: Iteration | None


def dated_site(where: Where | None) -> Site | None:
    """The same, where the place is known."""
    return where.dated_site if where is not None else None
