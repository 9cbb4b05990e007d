"""The path of a value: the statements that were executed, and what is known of their source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from afterward.model.site import Iteration, Site


@dataclass(slots=True, eq=False)
class Place:
    """A statement being executed: in which call, in which iterations of which loops, and called from where."""

    caller: Place | None
    call: int
    number: int  # of the statement
    moment: int
    iterations: tuple[tuple[int, int, int], ...]  # (number of the loop statement, entry, iteration)
    order_at: int = 0  # the node counter when it began

    def chain(self) -> list[Place]:
        """From the outermost caller down to this place."""
        chain: list[Place] = []
        place: Place | None = self
        while place is not None:
            chain.append(place)
            place = place.caller
        return chain[::-1]


class Home(Protocol):
    """Where a statement stands."""

    @property
    def file(self) -> str: ...

    @property
    def function(self) -> str: ...


class Program(Protocol):
    """The source that a path leads through."""

    def entry(self, number: int) -> Home: ...

    def statement(self, number: int) -> ast.stmt | None: ...

    def statement_at(self, file: str, line: int, column: int) -> ast.stmt | None: ...

    def around(self, file: str, statement: ast.stmt) -> Iterator[ast.stmt]:
        """The statements that hold this one, innermost first, up to the function it is in."""

    def names_read(self, file: str) -> frozenset[str] | None:
        """The names that a file reads anywhere; None where it may read any."""

    def site_of(self, file: str, node: ast.expr | ast.stmt) -> Site: ...

    def executed_at(self, place: Place) -> Site: ...

    def file_at(self, file: str, moment: int | None) -> str: ...

    def entered_at(self, loop: Iteration) -> int:
        """When the loop of this iteration was entered, on the clock of the places."""
