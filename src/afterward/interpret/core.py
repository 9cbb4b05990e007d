"""The state of an interpretation: the calls on the stack, the clock, what was decided, what may still be spent."""

from __future__ import annotations

import ast
import time
from dataclasses import dataclass, field
from typing import Any

from afterward.interpret.account import Account
from afterward.interpret.graph import Cutting, Graph, Naming, Tensor
from afterward.interpret.values import Class, Instance, Module, OutOfBudget, Scope, Unknown, Value
from afterward.model.history import Gap, History
from afterward.model.site import Level, Site, Turn, Where

STATEMENTS = 12_000
DEPTH = 60


@dataclass(slots=True)
class Frame:
    """One call: where it is, and in which turns of which loops."""

    call: int
    function: str
    file: str
    scope: Scope
    statement: ast.stmt | None = None
    moment: int = 0
    turns: list[Turn] = field(default_factory=list)
    level: Level | None = None
    hidden: bool = False  # a lambda or class body: not a level of its own
    cls: Class | None = None  # where the running method was defined, for `super()`
    first: Value = None  # its first argument


@dataclass(slots=True)
class Choices:
    """How tests on unknown values go in one run of the program: by default, except at some places."""

    default: str = "true"  # "true", "false" or "once": true the first time, then false
    flipped: frozenset[tuple[str, int, int]] = frozenset()
    met: dict[tuple[str, int, int], int] = field(default_factory=dict)


@dataclass(slots=True)
class Budget:
    """What one run may cost."""

    statements: int = STATEMENTS
    seconds: float = 1.0
    used: int = 0
    until: float = 0.0

    def start(self) -> None:
        self.until = time.perf_counter() + self.seconds


@dataclass(slots=True)
class Broken:
    """A pass that would fail, with its history, and the tests on unknown values that led there."""

    history: History
    caught: bool = False
    assumed: int = 0


class Core:
    """What all parts of the machine share."""

    def __init__(self, choices: Choices, budget: Budget) -> None:
        self.graph = Graph(self.here)
        self.account = Account()
        self.frames: list[Frame] = []
        self.choices = choices
        self.budget = budget
        self.calls = 0
        self.entries = 0
        self.unknowns: dict[object, Unknown] = {}
        self.kept_alive: list[object] = []  # keys hold ids of these
        self.decided: dict[int, bool] = {}
        self.broken: list[Broken] = []
        self.gaps: dict[tuple[str, int], Gap] = {}
        self.modules: dict[str, Module] = {}
        self.ran: dict[tuple[str, int, int], int] = {}  # when each statement last began
        self.turn_began: dict[tuple[int, int], int] = {}
        self.statements: dict[tuple[str, int, int], ast.stmt] = {}
        self.optimizers: list[Instance] = []
        self.executed: set[int] = set()  # functions that ran, by the id of their node
        self._where: tuple[int, int, Where] | None = None
        budget.start()

    # Where we are

    @property
    def frame(self) -> Frame:
        return self.frames[-1]

    def here(self) -> Where:
        """The way to the statement that is being executed."""
        frame = self.frames[-1]
        known = self._where
        if known is not None and known[0] == frame.call and known[1] == frame.moment:
            return known[2]
        levels = []
        for one in self.frames:
            if one.hidden or one.statement is None:
                continue
            if one.level is None or one.level.moment != one.moment:
                site = site_of(one.file, one.statement)
                one.level = Level(one.call, one.function, site, one.moment, tuple(one.turns))
            levels.append(one.level)
        where = Where(tuple(levels))
        self._where = (frame.call, frame.moment, where)
        return where

    def at(self, statement: ast.stmt) -> None:
        """A statement begins."""
        frame = self.frames[-1]
        frame.statement = statement
        self.graph.clock += 1
        frame.moment = self.graph.clock
        key = (frame.file, statement.lineno, statement.col_offset)
        self.ran[key] = frame.moment
        self.statements[key] = statement
        self.spend()

    def spend(self) -> None:
        budget = self.budget
        budget.used += 1
        if budget.used > budget.statements:
            raise OutOfBudget
        if budget.used & 63 == 0 and time.perf_counter() > budget.until:
            raise OutOfBudget

    def enter_loop(self, loop: ast.stmt) -> tuple[Site, int]:
        self.entries += 1
        return site_of(self.frames[-1].file, loop), self.entries

    def turn(self, site: Site, entry: int, number: int) -> Turn:
        self.turn_began[entry, number] = self.graph.tick()
        return Turn(site, entry, number)

    def gap(self, what: str, node: ast.AST | None = None) -> None:
        """Remember a place where the interpreter gave up."""
        frame = self.frames[-1] if self.frames else None
        target = node if isinstance(node, (ast.stmt, ast.expr)) else frame.statement if frame is not None else None
        if frame is None or target is None or len(self.gaps) > 200:
            return
        self.gaps.setdefault((frame.file, target.lineno), Gap(what, site_of(frame.file, target)))

    # Unknown values

    def unknown(self, *key: Any, cut: Cutting | None = None) -> Unknown:
        """An unknown value; without a key, one that is like no other."""
        if not key:
            return Unknown(None, cut)
        parts = tuple(part if _plain(part) else ("#", id(part)) for part in key)
        found = self.unknowns.get(parts)
        if found is None:
            self.kept_alive.extend(part for part in key if not _plain(part))
            found = self.unknowns[parts] = Unknown(parts, cut)
        return found

    def decide(self, value: Value, place: ast.AST, prefer: bool | None = None) -> bool:
        """How a test on an unknown value goes: the same way each time for the same value."""
        if isinstance(value, Unknown) and value.key is not None and id(value) in self.decided:
            return self.decided[id(value)]
        key = (self.frames[-1].file, getattr(place, "lineno", 0), getattr(place, "col_offset", 0))
        times = self.choices.met.get(key, 0)
        self.choices.met[key] = times + 1
        if prefer is not None:
            answer = prefer
        else:
            answer = self.choices.default == "true" or (self.choices.default == "once" and times == 0)
        if key in self.choices.flipped:
            answer = not answer
        if isinstance(value, Unknown):
            self.decided[id(value)] = answer
            self.kept_alive.append(value)
        return answer

    # Names

    def name(self, value: Value, name: str, kind: str) -> None:
        """The program gives a value a name: the bridge of a later report."""
        if isinstance(value, Tensor):
            frame = self.frames[-1]
            if value.node is not None:
                names = value.node.names.setdefault(value.slot, [])
                if len(names) < 12:
                    at = (frame.file, frame.statement)
                    names.append(Naming(name, kind, frame.call, frame.moment, frame.function == "", *at))
                if kind in ("local", "global"):
                    self.account.assigns(frame, name, value)
            elif value.needs and not value.label:
                value.label = name
        elif isinstance(value, Instance):
            if not value.label:
                value.label = name
        elif isinstance(value, (tuple, list)) and len(value) <= 8:
            for position, one in enumerate(value):
                if isinstance(one, Tensor) and one.node is not None:
                    self.name(one, f"{name}[{position}]", "item" if isinstance(value, list) else kind)


def _plain(part: object) -> bool:
    return part is None or isinstance(part, (str, int, float, bool, bytes))


def site_of(file: str, node: ast.stmt | ast.expr) -> Site:
    """The span of a statement (of a compound one, its head) or expression. `ast` counts columns in bytes of
    UTF-8; they differ from code points only on lines with other than ASCII."""
    end_line, end_column = node.end_lineno or node.lineno, node.end_col_offset
    body = getattr(node, "body", None)
    if isinstance(node, ast.stmt) and isinstance(body, list) and body:
        head = _head(node)
        end_line, end_column = (
            (head.end_lineno or head.lineno, head.end_col_offset) if head is not None else (node.lineno, None)
        )
    return Site(file, node.lineno, end_line, node.col_offset, end_column)


def _head(statement: ast.stmt) -> ast.expr | None:
    if isinstance(statement, (ast.If, ast.While)):
        return statement.test
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return statement.iter
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return statement.items[-1].context_expr
    return None
