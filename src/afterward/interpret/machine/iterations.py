"""The iterations of a loop: numbered, and counted until a further one would only repeat the last ones."""

from __future__ import annotations

import ast
from collections.abc import Sized
from typing import TYPE_CHECKING

from afterward.interpret.graph import unused_records

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine
    from afterward.model.site import Site

_STEADY = 4  # iterations after which a loop is left whose last iterations were all alike
_THINGS = 60  # items of a list that a loop without a pass takes by their numbers
_FILLED = 12  # items of a list that a loop without a training pass fills: code that follows may take each by its number
_DEEP = 3  # loops inside each other
# Iterations in which each pass is seen, wherever its loop lies: a record may be begun again in the first one. In a run
# that only confirms the first, one fewer.
SHOWN = 4


class Iterations:
    """The iterations of a loop, each entered with `with`; knows when a further one would only repeat the last ones."""

    __slots__ = (
        "around", "began", "count", "enough", "entry", "frame", "last", "loop", "machine", "most", "number", "same",
        "seen", "shows", "site", "trains",
    )  # fmt: skip

    def __init__(self, machine: Machine, loop: ast.stmt, most: int, count: int = 0) -> None:
        self.machine = machine
        self.loop = loop
        self.frame = machine.frame
        self.site, self.entry = machine.enter_loop(loop)
        self.number = 0
        self.most = most  # iterations, where it is known how many there are
        self.count = count  # of a range
        self.trains = False  # was `backward()` called in it?
        self.last = 0
        self.same = 0  # iterations in a row, before the last, that went as the last one did
        self.around = machine.trail
        self.began = len(machine.passes)  # with the last iteration
        self.shows = False  # are there passes in it that were not seen in enough iterations of one loop yet?
        self.seen: dict[Site, list[int]] = {}  # by the place of a pass: the iterations that came to it
        depth = sum(len(frame.iterations) for frame in machine.frames)
        self.enough = 2 if depth < _DEEP else 1  # so that nesting does not multiply

    def __enter__(self) -> None:
        machine = self.machine
        self.number += 1
        self.began = len(machine.passes)
        self.frame.iterations.append(machine.iteration(self.site, self.entry, self.number))
        self.around, machine.trail = machine.trail, 0

    def __exit__(self, *error: object) -> None:
        machine = self.machine
        self.frame.iterations.pop()
        trail = machine.trail
        self.same = self.same + 1 if trail == self.last else 0
        machine.trail = hash((self.around, trail)) if trail != self.last else self.around
        self.last = trail
        for made in machine.passes[self.began :]:
            self.trains = self.trains or made.call == "backward"
            innermost = made.where.innermost_iteration
            if innermost is not None and innermost.entry == self.entry:
                came = self.seen.setdefault(made.where.site, [])
                if self.number not in came:
                    came.append(self.number)
                machine.shown[made.where.site] = max(machine.shown.get(made.where.site, 0), len(came))
        self.shows = any(self._is_due(site, came) for site, came in self.seen.items())

    def _is_due(self, site: Site, came: list[int]) -> bool:
        """Is a pass wanted once more, and is it to come: one that every second iteration comes to, say?"""
        wanted = SHOWN if self.machine.choices.leads else SHOWN - 1
        often = came[-1] // len(came)
        return self.machine.shown[site] == len(came) < wanted and self.number < came[-1] + often

    def settled(self) -> bool:
        """Did the last iterations execute the same statements, with tests on the same numbers?"""
        if self.shows or self.goes_on():
            return False
        if self.number >= self.enough and self.last == self.machine.steady.get(id(self.loop)):
            return True  # as it went when the loop was entered before
        steady = _STEADY if self.machine.entries == self.entry else _STEADY - 1  # with loops inside, fewer are enough
        return self.number >= steady and self.same >= steady - 2

    def goes_on(self) -> bool:
        """Does it take or replace the items of a list one by one, and has it not come to the last one? As many as there
        are is what it was written for, however few iterations filled the list here. Or does it collect graphs, and
        not yet enough of them to tell what becomes of them? Or does it test a remainder, and has not come round
        twice, counted from the first iteration, where a count that begins with 0 does?"""
        if self.number < self.machine.renewed.get(self.entry, 0):
            return True
        if not self.seen and self.number < min(self.machine.indexed.get(self.entry, 0), _THINGS):
            return True
        if self.number < self.count <= _FILLED and not self.trains:
            return unused_records.fills_a_list(self.machine, self.loop)
        period = self.machine.periods.get(self.entry, 0)
        if period and self.number <= 2 * period <= self.most:
            return True
        return unused_records.shows(self.machine, self.loop, self.number)

    def over(self) -> None:
        if self.same:
            self.machine.steady[id(self.loop)] = self.last


def took(machine: Machine, owner: Sized, key: int) -> None:
    """An item of a list was taken by its number: where the variable of the loop is that number, each of its iterations
    is about another thing."""
    for one in machine.frame.iterations[-1:]:
        if machine.counted.get(one.entry) == key:
            machine.indexed[one.entry] = max(machine.indexed.get(one.entry, 0), len(owner))
