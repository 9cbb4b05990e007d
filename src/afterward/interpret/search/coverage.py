"""What an interpretation has looked at: the backward calls in a file, which of them it came to, and in which loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from afterward.follow.nodes import of_file
from afterward.follow.reading import parts_run
from afterward.model.methods import BACKWARD
from afterward.model.site import Where

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

Line = tuple[str, int]  # file, first line of a statement


@dataclass(slots=True)
class Coverage:
    """Statements by their lines."""

    analysed: set[Line] = field(default_factory=set)  # that led to a pass over a known graph
    met: set[Line] = field(default_factory=set)  # that were executed at all
    loops: set[Line] = field(default_factory=set)  # with a pass in them; line 0: passes of a file in no loop

    def note(self, machine: Machine) -> None:
        """A run has ended."""
        self.met.update((file, line) for file, line, _ in machine.ran)
        for one in machine.passes:
            self._pass(one.where)
        for broken in machine.broken:
            for late in broken.history.broken_passes():
                if late.where is not None:
                    self._pass(late.where)

    def _pass(self, where: Where) -> None:
        self.analysed.update((level.site.file, level.site.line) for level in where.levels)
        iteration = where.innermost_iteration
        self.loops.add((iteration.loop.file, iteration.loop.line) if iteration is not None else (where.site.file, 0))

    def why_not(self, line: Line) -> str:
        """Why a call of backward was not analysed."""
        if line in self.met:
            return "what `backward()` is called on is not known"
        return "no run came to this `backward()`"


def backward_calls(tree: ast.Module) -> Iterator[int]:
    """The first lines of the statements that call backward."""
    for one in of_file(tree):
        if isinstance(one, ast.stmt) and any(map(_calls_backward, parts_run(one))):
            yield one.lineno


def _calls_backward(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in BACKWARD
