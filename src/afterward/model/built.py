"""The graph ledger by statements: which nodes each execution of a statement built."""

from __future__ import annotations

from dataclasses import dataclass

from afterward.model.site import Site


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a statement, with all that it called. Moments are those of the clock that passes share."""

    moment: int
    until: int  # when the next statement of its call began
    call: int
    first: int  # its nodes: from this number on
    end: int  # and before this one
    iterations: tuple[tuple[int, int], ...] = ()  # of the loops of its call: which entry, and the how-manyeth iteration
    lost: bool = False  # something that was not followed may use what it built
    evaluates: bool = False  # the program had put its networks into evaluation mode


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that built nodes, and each of its executions that did, in order."""

    site: Site
    executions: tuple[Execution, ...]
    gives: tuple[str, ...] = ()  # what it gives its value to
    unread: bool = False  # nothing in the function (or file) that it stands in reads any of these names
    cut_off: bool = False  # its value has no graph: what it built cannot be used later
    chosen: bool = False  # a test inside of its loop, or the end of that loop, decides which value is the last


@dataclass(frozen=True, slots=True)
class Built:
    """All statements that built nodes: of a long run, at its beginning and at its end."""

    statements: tuple[Statement, ...] = ()
    nodes: int = 0  # that were built in all that time, by whatever statement
    over: bool = True  # the program had come to its end: no pass can come any more

    def since(self, moment: int) -> Built:
        """What was built since a moment."""
        found = []
        for one in self.statements:
            late = tuple(each for each in one.executions if each.moment >= moment)
            if late:
                found.append(Statement(one.site, late, one.gives, one.unread, one.cut_off, one.chosen))
        first = min((each.first for one in found for each in one.executions), default=0)
        last = max((each.end for one in self.statements for each in one.executions), default=0)
        return Built(tuple(found), max(min(self.nodes, last - first), 0), self.over)
