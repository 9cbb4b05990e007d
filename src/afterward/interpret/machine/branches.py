"""Branches: which way a test goes that is not known, and whether it made a difference."""

from __future__ import annotations

import ast
from typing import Any

from afterward.interpret.machine.core import Place, spelled
from afterward.interpret.machine.part import Part
from afterward.interpret.machine.values import Value


class Branches(Part):
    """The part of the machine that takes one branch or the other."""

    def if_(self, statement: ast.If) -> Any:
        trail = self.machine.trail
        around, self.machine.tested_at = self.machine.tested_at, []
        asked = self.machine.graphs_asked
        try:
            value = self.machine.evaluate(statement.test)
            known = self.machine.truth(value)
            if known is None:
                known = self._branch(statement, value)
                self.machine.assume(statement.test, value, known)
            elif asked == self.machine.graphs_asked:  # what a graph says is no setting that could be another one
                known = self._known(statement, known)
            places = self.machine.tested_at
        finally:
            self.machine.tested_at = around
        if not statement.orelse:  # where there is nothing, nothing happens
            for place in places:
                self.machine.choices.sides.setdefault(place, set()).add(False)
        if not known and not statement.orelse:
            left, idle = None, True
        else:
            left, idle = self._watched(statement.body if known else statement.orelse, places, known)
        if not idle:
            self.machine.busy.add(id(statement))
        elif id(statement) not in self.machine.busy and (known or id(statement) in self.machine.idle):
            self.machine.idle.add(id(statement))
            self.machine.trail = hash((trail, id(statement)))  # however the test goes, nothing comes of it
        return left

    def _known(self, statement: ast.If, known: bool) -> bool:
        """How a test on known values goes: as they say, but where a run is to see the other side."""
        key = (self.machine.frame.file, statement.test.lineno, statement.test.col_offset)
        if not self.machine.importing:
            self.machine.choices.known.setdefault(key, set()).add(known)
        return self.machine.choices.forced.get(key, known)

    def _branch(self, statement: ast.If, value: Value) -> bool:
        """Which way an unknown test goes. A branch that only ends the program is not taken: nothing would follow."""
        for body, other in ((statement.body, False), (statement.orelse, True)):
            if _ends(body) and not (self.machine.guarded and isinstance(body[-1], ast.Raise)):
                return self.machine.settled(value, other)
        prefer = False if leaves(statement.body) else True if leaves(statement.orelse) else None
        return self.machine.decide(value, statement.test, prefer)

    def _watched(self, body: list[ast.stmt], places: list[Place], side: bool) -> tuple[Any, bool]:
        """Run a branch, and see whether it did anything: where it did not, no run without it is needed."""
        frame = self.machine.frame
        graph, data = self.machine.effects + frame.effects, self.machine.data_effects + frame.data_effects
        left: Any = self.machine  # in case it is left by an exception
        more = changed = True
        try:
            left = self.machine.run_block(body)
        finally:
            more = left is not None or graph != self.machine.effects + frame.effects
            changed = data != self.machine.data_effects + frame.data_effects
            self.machine.settle(places, changed, more)
            for place in places:
                self.machine.choices.sides.setdefault(place, set()).add(side)
        return left, not (more or changed)


def _ends(body: list[ast.stmt]) -> bool:
    """Does a branch do nothing much but end the program?"""
    if not body or len(body) > 3:
        return False
    last = body[-1]
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Call):
        return isinstance(last.value.func, (ast.Name, ast.Attribute)) and spelled(last.value.func) in _EXITS
    return isinstance(last, ast.Raise)


_EXITS = ("exit", "quit", "sys.exit", "os._exit", "os.abort")


def leaves(body: list[ast.stmt]) -> bool:
    """Does a branch do nothing much but leave?"""
    return bool(body) and len(body) <= 3 and isinstance(body[-1], (ast.Raise, ast.Break, ast.Continue, ast.Return))
