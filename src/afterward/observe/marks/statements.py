"""The table of marked statements: what a mark's number stands for."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from types import CodeType
from typing import Any

# What a mark tells besides "this statement begins". Flags, because the first statement of a function may be a loop.
# HEAD is a loop's head seen as a line: it enters the loop, or begins its next iteration.
# CELL is the beginning of a notebook's cell. WHOLE is a loop's head with the body on the same line.
# FIRST is the first statement of a loop's body, where its mark stands for the loop's next iteration, too.
# KEEPS says that the outermost calls (as many as its `line`) are those that were running before; each TOLD that follows
# is one more call that runs now, at this statement: they stand where marks had been switched off.
ENTER, EXIT, LOOP, NEXT, RESUME, HEAD, SUSPEND, CELL, WHOLE, FIRST = 1, 2, 4, 8, 16, 32, 64, 128, 256, 512
KEEPS, TOLD = 1024, 2048

# A mark is one integer: the statement's number above, the node counter below.
SHIFT = 40
COUNTER = (1 << SHIFT) - 1


@dataclass(slots=True)
class Statement:
    """One marked statement of one file. `scope` is the number of the function it belongs to."""

    file: str
    line: int
    end_line: int
    column: int
    end_column: int | None
    scope: int
    function: str
    flags: int
    loops: tuple[int, ...]  # numbers of the loop statements around it, in the same scope, outermost first


class Statements:
    """All statements marked so far, in any file; a mark's number is a place in this list."""

    def __init__(self) -> None:
        self.table: list[Statement] = []
        self.sources: dict[str, str] = {}  # the text each file had when it was compiled
        self.compiled: dict[str, CodeType] = {}  # of that text, with marks: it may be asked for again, by a reload
        self.patched: dict[str, bytes] = {}  # files to compile from another text than the one on disk
        self.runs: dict[str, list[tuple[int, str]]] = {}  # of a notebook's cell: when it began, under which name
        self.marking: Any = None  # what puts marks for these statements into code, once there is one
        self.heads: dict[
            int, int
        ] = {}  # the loop that a number stands for which has the flag HEAD, where that has another
        self.told: dict[int, int] = {}  # which statement a number stands for that has the flag TOLD
        self.scopes = 0

    def __len__(self) -> int:
        return len(self.table)

    @property
    def full(self) -> bool:
        return len(self.table) >= (1 << 24) - 4096  # what is left of 64 bits

    def file_at(self, file: str, moment: int | None = None) -> str:
        """The name that a file had at a moment, or has now: a cell gets a new one each time it is run."""
        runs = self.runs.get(file)
        if not runs:
            return file
        if moment is None:
            return runs[-1][1]
        return runs[max(bisect_right(runs, moment, key=lambda run: run[0]) - 1, 0)][1]

    def new_scope(self) -> int:
        self.scopes += 1
        return self.scopes

    def add(self, statement: Statement) -> int:
        self.table.append(statement)
        return len(self.table) - 1
