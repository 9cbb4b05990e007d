"""Gives the events of a whole run their places, once the run is over."""

from __future__ import annotations

import ast
from bisect import bisect_right
from itertools import takewhile

from afterward.follow.path import Place
from afterward.follow.reading import is_cut_off, reads, targets
from afterward.model.names import in_words_of, keys_of, stem
from afterward.model.quick import quickly
from afterward.model.site import Iteration, Level, Site, Where
from afterward.observe.marks.statements import CELL, COUNTER, SHIFT
from afterward.observe.provenance.sources import Sources
from afterward.observe.recording.recorder import Recorder

AFTER = 10_000  # marks after a value was made, in which it was stored

Written = tuple[Site | None, str]  # a statement that writes to a name, and the name

_where, _level, _iteration = quickly(Where), quickly(Level), quickly(Iteration)


class Wording:
    """Turns places into the model's words."""

    def __init__(self, sources: Sources) -> None:
        self.table = sources.statements.table
        self.sources = sources
        self._wheres: dict[Place, Where] = {}
        self._levels: dict[Place, Level] = {}
        self._iterations: dict[tuple[int, int, int], Iteration] = {}
        self._speaks: dict[tuple[int, str], bool] = {}

    def where(self, place: Place | None) -> Where | None:
        if place is None:
            return None
        known = self._wheres.get(place)
        if known is None:
            known = self._wheres[place] = _where(tuple([self._level(one) for one in place.chain()]))
        return known

    def mentions(self, place: Place | None, word: str) -> bool:
        """Does a statement on the way there speak of this, in its first line?"""
        while place is not None:
            speaks = self._speaks.get((place.number, word))
            if speaks is None:
                entry = self.table[place.number]
                speaks = self._speaks[place.number, word] = word in self.sources.line(entry.file, entry.line)
            if speaks:
                return True
            place = place.caller
        return False

    def _level(self, place: Place) -> Level:
        known = self._levels.get(place)
        if known is None:
            entry = self.table[place.number]
            iterations = tuple(
                [
                    self._iterations.get(iteration) or self._iteration(place, iteration)
                    for iteration in place.iterations
                    if iteration[2] > 0
                ]
            )
            site = self.sources.site(entry, place.moment)
            known = self._levels[place] = _level(place.call, entry.function, site, place.moment, iterations)
        return known

    def _iteration(self, place: Place, iteration: tuple[int, int, int]) -> Iteration:
        loop, entered, number = iteration
        site = self.sources.site(self.table[loop], place.moment)
        is_cell = self.table[loop].flags & CELL
        made = _iteration(site, entered, number, site.file if is_cell else "", 0)
        if not is_cell:  # a cell of a notebook has another name each time it runs
            self._iterations[iteration] = made
        return made


class Places(Wording):
    """Replays what is left of the marks, so that every event has its place."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__(Sources(recorder.statements))
        self.executed: set[int] = set()
        marks = self.marks = recorder.marks[:]
        if marks:
            marks.append(marks[-1])
            self.executed = {mark >> SHIFT for mark in marks}
            due = [event for event in recorder.settle() if event.place is None]
            recorder.replay.copy().feed(marks, recorder.base, due=due, answers={})

    def assigning(self, name: str) -> Written:
        """The executed statement that puts a graph into this name: one that adds to it, the deepest in loops."""
        best: tuple[tuple[bool, bool, int], int, str] | None = None
        for number in self.executed:
            statement = self.sources.statement(number)
            text = next((t.text for t in targets(statement) if stem(t.text) == stem(name)), "") if statement else ""
            if statement is None or not text:
                continue
            rank = (not _puts_a_number(statement), _adds(statement), len(self.table[number].loops))
            if best is None or rank > best[0]:
                best = (rank, number, text)
        return self._written(name, *best[1:]) if best is not None else (None, name)

    def storing(self, name: str, order: int, made: Place | None) -> Written:
        """The statement that put a value under this name: the one that made the value, if it writes to the name, else
        the first one after it that does. None where that is no longer in the record."""
        writing = self._writing(name)
        making = [place.number for place in made.chain()[::-1]] if made is not None else []
        first = bisect_right(self.marks, order, key=lambda mark: mark & COUNTER) - 1
        later = (mark >> SHIFT for mark in self.marks[first : first + AFTER]) if first >= 0 else ()
        number = next((number for number in (*making, *later) if number in writing), None)
        return self._written(name, number, writing[number]) if number is not None else (None, name)

    def _written(self, name: str, number: int, text: str) -> Written:
        return self.sources.site(self.table[number]), in_words_of(text, name)

    def _writing(self, name: str) -> dict[int, str]:
        """The executed statements that put something under this name, with what they call it; those that write out its
        keys before others."""
        found: dict[int, dict[int, str]] = {}
        for number in self.executed:
            statement = self.sources.statement(number)
            for target in targets(statement) if statement is not None else ():
                if stem(target.text) == stem(name):
                    found.setdefault(_keys_alike(target.text, name), {})[number] = target.text
        return found[max(found)] if found else {}

    def in_own_words(self, name: str) -> str:
        """`trainer.callbacks[0].log` is `self.log` where the program writes of it: only a library has the list."""
        inner = stem(name.rpartition("].")[2])
        if "]." not in name or self.assigning(name)[0] is not None:
            return name
        statements = (self.sources.statement(number) for number in self.executed)
        written = (target.text for one in statements if one is not None for target in targets(one))
        return next((text for text in written if text.startswith("self.") and stem(text) == inner), name)


def _keys_alike(target: str, name: str) -> int:
    """How many keys of `log["loss"]` are those of the value `log['loss'][3]`."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(keys_of(target), keys_of(name), strict=False)))


def _puts_a_number(statement: ast.stmt) -> bool:
    """`log.append(loss.item())`, `total += loss.detach()`"""
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Expr) and isinstance(value, ast.Call) and value.args:
        value = value.args[-1]
    return is_cut_off(value)


def _adds(statement: ast.stmt) -> bool:
    """Does it put something more into what is there: `log.append(x)`, `log[k] = x`, `total += x`, `t = t + x`?"""
    if isinstance(statement, ast.Assign):
        read = {name.text for name in reads(statement)}
        into = any(isinstance(target, ast.Subscript) for target in statement.targets)
        return into or any(target.text in read for target in targets(statement))
    return isinstance(statement, (ast.Expr, ast.AugAssign))
