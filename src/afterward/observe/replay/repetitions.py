"""Finds where a record repeats itself in a loop, so that nothing has to follow every iteration."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import dataclass

from afterward.observe.marks.statements import COUNTER, SHIFT
from afterward.observe.marks.tape import repeats


@dataclass(frozen=True, slots=True)
class Iteration:
    """An iteration of a loop that may be repeated: how many marks it has, and how many calls were made in it."""

    length: int
    calls: int


class Cycles:
    """Sees the iterations of loops end, and says how many iterations like the last one follow."""

    def __init__(self, marks: array[int]) -> None:
        self._marks = marks
        self._ends: dict[Hashable, tuple[int, int]] = {}
        self._asked = (-1, 0)  # the last order that was asked about, and the position of its mark

    def last_iteration(self, position: int, state: Hashable, serial: int) -> Iteration | None:
        """The iteration that ends at a mark, unless it is the first; `state` names the loop and all that holds it."""
        before = self._ends.get(state)
        self.iteration_ended(position, state, serial)
        return None if before is None else Iteration(position - before[0], serial - before[1])

    def iteration_ended(self, position: int, state: Hashable, serial: int) -> None:
        """Where the last iteration ended that was followed or passed over."""
        self._ends[state] = (position, serial)

    def made_by(self, position: int) -> int:
        """How many nodes there were at a mark."""
        return self._marks[position] & COUNTER

    def position_of(self, order: int, since: int) -> int:
        """The mark of the statement that made the node of this order, at `since` or later."""
        if self._asked[0] != order:
            self._asked = (order, bisect_right(self._marks, order, lo=since, key=_counter) - 1)
        return self._asked[1]

    def numbers(self, position: int, iteration: Iteration) -> set[int]:
        """The statements that ran in an iteration."""
        return {mark >> SHIFT for mark in self._marks[position + 1 - iteration.length : position + 1]}

    def repeats(self, position: int, iteration: Iteration, most: int) -> int:
        """How often, up to so many times, the iteration that ends at a mark is there again right after it."""
        return repeats(self._marks, position + 1, iteration.length, most)


def _counter(mark: int) -> int:
    return mark & COUNTER
