"""Gives the events of a whole run their places, once the run is over."""

from __future__ import annotations

import ast

from afterward.model.site import Level, Site, Turn, Where
from afterward.observe.recorder import Recorder
from afterward.observe.replay import Place
from afterward.observe.sources import Sources, reads, stem, targets
from afterward.observe.statements import CELL, SHIFT


class Wording:
    """Turns places into the model's words."""

    def __init__(self, sources: Sources) -> None:
        self.table = sources.statements.table
        self.sources = sources
        self.known: dict[Place, Where] = {}
        self._mentions: dict[int, bool] = {}

    def where(self, place: Place | None) -> Where | None:
        if place is None:
            return None
        if place not in self.known:
            self.known[place] = Where(tuple(self._level(one) for one in place.chain()))
        return self.known[place]

    def mentions(self, where: Where, word: str) -> bool:
        """Does a statement on the way there speak of this, in its first line?"""
        if id(where) not in self._mentions:
            lines = (self.sources.line(level.site.file, level.site.line) for level in where.levels)
            self._mentions[id(where)] = any(word in line for line in lines)
        return self._mentions[id(where)]

    def _level(self, place: Place) -> Level:
        entry = self.table[place.number]
        turns = tuple(self._turn(place, *turn) for turn in place.turns if turn[2] > 0)
        return Level(place.call, entry.function, self.sources.site(entry, place.moment), place.moment, turns)

    def _turn(self, place: Place, loop: int, entered: int, number: int) -> Turn:
        site = self.sources.site(self.table[loop], place.moment)
        return Turn(site, entered, number, site.file if self.table[loop].flags & CELL else "")


class Places(Wording):
    """Replays what is left of the marks, so that every event has its place."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(Sources(recorder.statements))
        self.executed: set[int] = set()
        marks = recorder.marks[:]
        if marks:
            marks.append(marks[-1])
            self.executed = {mark >> SHIFT for mark in marks}
            due = [event for event in recorder.settle() if event.place is None]
            recorder.replay.copy().feed(marks, recorder.base, due=due, answers={})

    def assigning(self, name: str) -> Site | None:
        """The executed statement that puts something into this name: one that adds to it, the deepest in loops."""
        best: tuple[tuple[bool, int], Site] | None = None
        for number in self.executed:
            statement = self.sources.statement(number)
            if statement is None or not any(stem(t.text) == stem(name) for t in targets(statement)):
                continue
            rank = (_adds(statement), len(self.table[number].loops))
            if best is None or rank > best[0]:
                best = (rank, self.sources.site(self.table[number]))
        return best[1] if best is not None else None


def _adds(statement: ast.stmt) -> bool:
    """Does it put something more into what is there: `log.append(x)`, `log[k] = x`, `total += x`, `t = t + x`?"""
    if isinstance(statement, ast.Assign):
        read = {name.text for name in reads(statement)}
        into = any(isinstance(target, ast.Subscript) for target in statement.targets)
        return into or any(target.text in read for target in targets(statement))
    return isinstance(statement, (ast.Expr, ast.AugAssign))
