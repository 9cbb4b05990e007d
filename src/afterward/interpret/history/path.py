"""The path that an interpretation took, for whoever follows a value along it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from afterward.follow.built import statements_built
from afterward.follow.nodes import kept, of_file
from afterward.follow.path import Place
from afterward.follow.reading import holders, names_read, outward, reads
from afterward.interpret.machine.core import site_of
from afterward.model.built import Built
from afterward.model.site import Iteration, Site, Where

if TYPE_CHECKING:
    from afterward.interpret.machine.machine import Machine

Key = tuple[str, int, int]  # file, line and column of a statement


@dataclass(frozen=True, slots=True)
class Home:
    """Where a statement stands."""

    file: str
    function: str


class Path:
    """The statements that were executed, numbered, with the source they stand in."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.places: list[Place] = []
        self.numbers: dict[Key, int] = {}
        self._keys: list[Key] = []
        self._homes: list[Home] = []
        self._around: dict[str, dict[ast.stmt, ast.stmt]] = {}
        last: dict[int, Place] = {}  # of each call
        for statement, call, moment, nodes, around in machine.path:
            file, function, caller = machine.callers[call]
            number = self._number((file, statement.lineno, statement.col_offset), function)
            iterations = tuple([(-1, one.entry, one.number) for one in around])
            place = last[call] = Place(last.get(caller), call, number, moment, iterations, nodes + 1)
            self.places.append(place)

    def _number(self, key: Key, function: str) -> int:
        number = self.numbers.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
            self._homes.append(Home(key[0], function))
        return number

    def built(self, lost: set[int]) -> Built:
        """The nodes that each execution of a statement built."""
        by_call: dict[int, list[Place]] = {}
        for place in self.places:
            by_call.setdefault(place.call, []).append(place)
        pairs = (pair for places in by_call.values() for pair in pairwise(places))
        graph, budget, blind = self.machine.graph, self.machine.budget, self.machine.account.blind
        found = statements_built(
            self, pairs, lambda place: place.moment, lambda first, end: blind or not lost.isdisjoint(range(first, end))
        )
        return Built(found, graph.count, budget.used <= budget.statements)

    def entry(self, number: int) -> Home:
        return self._homes[number]

    def statement(self, number: int) -> ast.stmt | None:
        return self.machine.statements.get(self._keys[number])

    def statement_at(self, file: str, line: int, column: int) -> ast.stmt | None:
        return self.machine.statements.get((file, line, column))

    def statements_of(self, file: str) -> list[ast.stmt]:
        """All statements of a file, in the order in which they are written."""
        trees = (module.tree for module in self.machine.modules.values() if module.file == file and module.tree)
        found = (node for tree in trees for node in of_file(tree) if isinstance(node, ast.stmt))
        return sorted(found, key=lambda one: (one.lineno, one.col_offset))

    def around(self, file: str, statement: ast.stmt) -> Iterator[ast.stmt]:
        if file not in self._around:
            trees = [module.tree for module in self.machine.modules.values() if module.file == file and module.tree]
            self._around[file] = {inner: outer for tree in trees for inner, outer in _holders(tree).items()}
        return outward(self._around[file], statement)

    def reads(self, where: Where) -> frozenset[str]:
        """The names that the statements on the way to a place read."""
        sites = (level.site for level in where.levels)
        statements = (self.statement_at(site.file, site.line, site.column) for site in sites)
        return frozenset(name.text for one in statements if one is not None for name in reads(one))

    def names_read(self, file: str) -> frozenset[str] | None:
        tree = self.machine.sources.tree(file)
        return names_read(tree) if tree is not None else None

    def site_of(self, file: str, node: ast.expr | ast.stmt) -> Site:
        return site_of(file, node)

    def executed_at(self, place: Place) -> Site:
        file, _, _ = self._keys[place.number]
        statement = self.statement(place.number)
        assert statement is not None
        return site_of(file, statement)

    def file_at(self, file: str, moment: int | None) -> str:
        return file

    def entered_at(self, loop: Iteration) -> int:
        return self.machine.iteration_began.get((loop.entry, 1), 0)


@kept
def _holders(tree: ast.AST) -> dict[ast.stmt, ast.stmt]:
    """For each statement of a file, the one that directly holds it: every run of a program asks for it again."""
    return holders(node for node in of_file(tree) if isinstance(node, ast.stmt))
