"""Which statement made a node, while the program still runs: for the few nodes that are asked about at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from afterward.observe.marks.statements import COUNTER, ENTER, EXIT, SHIFT, SUSPEND
from afterward.observe.recording.recorder import Recorder


class Executing:
    """Which statement was being executed when a node was made, read off the marks as they are now."""

    def __init__(self, recorder: Recorder) -> None:
        self.marks = recorder.marks
        self.table = recorder.statements.table
        self.known: dict[int, int | None] = {}

    def __call__(self, order: int) -> int | None:
        position = bisect_right(self.marks, order, key=lambda mark: mark & COUNTER) - 1
        if position not in self.known:
            self.known[position] = self._executing(position)
        return self.known[position]

    def counts(self, orders: Iterable[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        for order in orders:
            statement = self(order)
            if statement is not None:
                found[statement] = found.get(statement, 0) + 1
        return found

    def _executing(self, position: int) -> int | None:
        """The statement that a mark begins; after a call has ended, the one that had called."""
        while position >= 0:
            number = self.marks[position] >> SHIFT
            statement = self.table[number]
            if not statement.flags & (EXIT | SUSPEND):
                return number
            position = self._entered(position, statement.scope) - 1
        return None

    def _entered(self, position: int, scope: int) -> int:
        depth = 0
        while position >= 0:
            statement = self.table[self.marks[position] >> SHIFT]
            if statement.scope == scope:
                depth += bool(statement.flags & (EXIT | SUSPEND))
                depth -= bool(statement.flags & ENTER)
                if depth <= 0:
                    return position
            position -= 1
        return position
