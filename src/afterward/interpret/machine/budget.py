"""What an interpretation may cost, counted in executed statements: the same on every machine, however busy it is."""

from __future__ import annotations

from dataclasses import dataclass

from afterward.interpret.machine.values import OutOfBudget

STATEMENTS = 8_000  # of one run
SHORT, LONG = 600, 1_500  # a program that has run so long gets fewer iterations of each loop
IMPORTS = 24_000  # of the project's modules that one run imports: they define more than they do


@dataclass(slots=True)
class Budget:
    """What one run may cost. Imports have a budget of their own: a large project must not use up its programs'.

    Each module counts from zero, and what it took is charged again when it is taken from an earlier run. So it makes no
    difference which runs were before.
    """

    statements: int = STATEMENTS
    used: int = 0
    imports: int = IMPORTS  # left for imports, but for what the module being imported has used since `settled`
    settled: int = 0
    depth: int = 0  # imports inside each other

    def spend(self) -> None:
        self.used += 1
        if self.used > self.statements:
            raise OutOfBudget

    def affords(self, cost: int) -> bool:
        """Can an import of this cost be charged?"""
        return cost <= self.imports - (self.used - self.settled if self.depth else 0)

    def charge(self, cost: int) -> None:
        """What an earlier run has imported is used again."""
        self.imports -= cost
        if self.depth:
            self.statements -= cost

    def begin_import(self) -> tuple[int, int]:
        """A module is imported. Returns what `end_import` is to be given."""
        before = self.used, self.statements
        if self.depth:
            self.imports -= self.used - self.settled
        self.depth += 1
        self.used = self.settled = 0
        self.statements = self.imports
        return before

    def end_import(self, before: tuple[int, int]) -> int:
        """A module was imported: how many statements of its own that took."""
        own = self.used
        self.imports -= own - self.settled
        self.depth -= 1
        self.used, self.statements = before
        if self.depth:
            self.settled = self.used
            self.statements = self.used + self.imports
        return own
