"""In which calls the program has put its networks into evaluation mode, by the statements that ran."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from afterward.follow.path import Place, Program
from afterward.follow.reading import parts_run


class Modes:
    """`net.eval()` and `net.train()` say what the statements after them, in that call and in what it calls, are for."""

    def __init__(self, program: Program, places: Iterable[Place]) -> None:
        self._set: dict[int, list[tuple[int, str, bool]]] = {}  # by call: when, of which network, evaluation
        known: dict[int, list[tuple[str, bool]]] = {}
        for place in places:
            if place.number not in known:
                known[place.number] = list(_modes_set(program.statement(place.number)))
            for network, evaluation in known[place.number]:
                self._set.setdefault(place.call, []).append((place.moment, network, evaluation))
        for several in self._set.values():
            several.sort()

    def evaluates(self, place: Place) -> bool:
        """Does a statement run where every network that was spoken of last is in evaluation mode?"""
        around: Place | None = place
        while around is not None:
            several = self._set.get(around.call, [])
            before = several[: bisect_left(several, (around.moment, "", False))]
            if before:
                return all({network: evaluation for _, network, evaluation in before}.values())
            around = around.caller
        return False


def _modes_set(statement: ast.stmt | None) -> Iterator[tuple[str, bool]]:
    for node in parts_run(statement):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
            off = [isinstance(one, ast.Constant) and one.value is False for one in node.args]
            if (node.func.attr, off) in (("eval", []), ("train", [True])):
                yield ast.unparse(node.func.value), True
            elif node.func.attr == "train":
                yield ast.unparse(node.func.value), False
