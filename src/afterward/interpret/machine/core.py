"""The state of an interpretation: the calls on the stack, the clock, what was decided, what may still be spent."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from afterward.follow import reading
from afterward.follow.nodes import kept
from afterward.interpret.graph.account import Account
from afterward.interpret.graph.graph import Cutting, Graph, Naming, Tensor
from afterward.interpret.machine.budget import Budget
from afterward.interpret.machine.values import MISSING, Class, Instance, Lib, Module, OutOfBudget, Scope, Unknown, Value
from afterward.model.history import Gap, History
from afterward.model.site import Iteration, Level, Site, Where

if TYPE_CHECKING:
    from afterward.interpret.library.torch.passes import PassMade

DEPTH = 60

Place = tuple[str, int, int]  # file, line and column of a test
# A statement that was executed: in which call, when, after how many nodes, and in which iterations of which loops.
Executed = tuple[ast.stmt, int, int, int, tuple[Iteration, ...]]


@dataclass(slots=True)
class Frame:
    """One call: where it is, and in which iterations of which loops."""

    call: int
    function: str
    file: str
    scope: Scope
    statement: ast.stmt | None = None
    moment: int = 0
    iterations: list[Iteration] = field(default_factory=list)
    level: Level | None = None
    effects: int = 0  # names that were given another value
    data_effects: int = 0
    hidden: bool = False  # a lambda or class body: not a level of its own
    cls: Class | None = None  # where the running method was defined, for `super()`
    first: Value = None  # its first argument
    node: ast.AST | None = None  # the function that runs
    comprehensions: list[int] = field(default_factory=list)  # that run in it, each by a number below zero


@dataclass(slots=True)
class Choices:
    """How tests on unknown values go in one run of the program: by default, except at some places."""

    default: str = "true"  # "true", "false" or "once": true the first time, then false
    flipped: frozenset[Place] = frozenset()
    forced: dict[Place, bool] = field(default_factory=dict)  # how tests on known values go, where they are to be seen
    settings: frozenset[tuple[str, str]] = frozenset()  # names and attributes whose value is not to be relied on
    leads: bool = True  # is it the run that looks most closely? The others vary it
    known: dict[Place, set[bool]] = field(default_factory=dict)  # how tests on known values went by themselves
    met: dict[Place, int] = field(default_factory=dict)
    trace: list[tuple[Place, bool | None, bool]] = field(default_factory=list)  # place, preference, answer
    sides: dict[Place, set[bool]] = field(default_factory=dict)  # which branches of a test were run
    touches: set[Place] = field(default_factory=set)  # places where it made a difference how a test went
    matters: set[Place] = field(default_factory=set)  # of these, where it was not only to numbers and texts

    def answer(self, place: Place, prefer: bool | None) -> bool:
        """How a test at a place goes this time."""
        times = self.met.get(place, 0)
        self.met[place] = times + 1
        wanted = self.at(place, times, prefer)
        self.trace.append((place, prefer, wanted))
        return wanted

    def at(self, place: Place, times: int, prefer: bool | None) -> bool:
        """How a test at a place goes that has been met so many times before."""
        if prefer is None:
            prefer = self.default == "true" or (self.default == "once" and times == 0)
        return prefer != (place in self.flipped)

    def would_repeat(self, trace: list[tuple[Place, bool | None, bool]]) -> bool:
        """Would a run with these choices decide all as an earlier run did? Then it is that run again."""
        times: dict[Place, int] = {}
        for place, prefer, answer in trace:
            before = times.get(place, 0)
            if self.at(place, before, prefer) != answer:
                return False
            times[place] = before + 1
        return True


@dataclass(slots=True)
class Broken:
    """A pass that would fail, with its history, and the tests on unknown values that led there."""

    history: History
    caught: bool = False
    assumed: tuple[Any, ...] = ()


class Core:
    """What all parts of the machine share."""

    def __init__(self, choices: Choices, budget: Budget) -> None:
        self.graph = Graph(self.here)
        self.passes: list[PassMade] = []
        self.account = Account()
        self.assumed: Any = None  # the machine's: what stands in for what is not shown
        self.frames: list[Frame] = []
        self.choices = choices
        self.budget = budget
        self.calls = 0
        self.entries = 0
        self.unknowns: dict[object, Unknown] = {}
        self.kept_alive: list[object] = []  # keys hold ids of these
        self.decided: dict[int, bool] = {}
        self.negations: dict[int, Unknown] = {}  # of what each is the opposite
        self.decided_at: dict[int, Place] = {}
        self.tested_at: list[Place] | None = None  # while the test of an `if` is evaluated
        self.graphs_asked = 0  # how often the program asked a tensor about its graph: `loss.requires_grad`
        self.effects = 0  # counts what may be seen from elsewhere; each frame counts what its own names see
        self.data_effects = 0  # the same, of numbers, texts and unknown values
        self.guarded = 0  # bodies of `try` that we are in
        self.guarding: list[int] = []  # the calls whose `try` these are
        self.importing = 0  # imports inside each other
        self.trail = 0  # the statements of this iteration of the innermost loop, and the numbers tested in it
        self.idle: set[int] = set()  # `if` statements that did nothing yet, and those that did
        self.busy: set[int] = set()
        self.shown: dict[Site, int] = {}  # by the place of a pass: in how many iterations of one loop it was seen
        self.steady: dict[int, int] = {}  # the trail that the iterations of a loop have settled on
        self.counted: dict[int, Value] = {}  # by the entry into a loop: what its variable has
        self.indexed: dict[int, int] = {}  # by the entry into a loop: the length of a list from which that takes items
        self.renewed: dict[int, int] = {}  # by the entry into a loop: the length of a list whose items it replaces
        self.periods: dict[int, int] = {}  # by the entry into a loop: what a test in it comes round after, `i % 4 == 0`
        self.broken: list[Broken] = []
        self.gaps: dict[tuple[str, int], Gap] = {}
        self.modules: dict[str, Module] = {}
        self.ran: dict[tuple[str, int, int], int] = {}  # when each statement last began
        self.iteration_began: dict[tuple[int, int], int] = {}
        self.statements: dict[tuple[str, int, int], ast.stmt] = {}
        self.path: list[Executed] = []  # what was executed
        self.callers: dict[int, tuple[str, str, int]] = {}  # of each call: file, function, and the call it came from
        self.optimizers: list[Instance] = []
        self.executed: set[int] = set()  # functions that ran, by the id of their node
        self.worked: set[int] = set()  # the same, those that a process or thread was started for
        self.changes: list[tuple[dict[str, Value], str, Value]] = []  # to be undone at the end of the run
        self._where: tuple[int, int, Where] | None = None

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
                one.level = Level(one.call, one.function, site, one.moment, tuple(one.iterations))
            levels.append(one.level)
        where = Where(tuple(levels))
        self._where = (frame.call, frame.moment, where)
        return where

    def repeats_after(self, iterations: int) -> None:
        """The innermost loop (or comprehension) tests a remainder: what it does shows only after so many iterations."""
        loops = ([*(each.entry for each in one.iterations), *one.comprehensions] for one in reversed(self.frames))
        inside = next((entries[-1] for entries in loops if entries), None)
        if inside is not None:
            self.periods[inside] = max(iterations, self.periods.get(inside, 0))

    def at(self, statement: ast.stmt) -> None:
        """A statement begins."""
        frame = self.frames[-1]
        frame.statement = statement
        frame.moment = self.graph.clock = self.graph.clock + 1
        self.trail = hash((self.trail, id(statement)))
        key = (frame.file, statement.lineno, statement.col_offset)
        if key not in self.ran:
            self.statements[key] = statement
        self.ran[key] = frame.moment
        self.path.append((statement, frame.call, frame.moment, self.graph.count, tuple(frame.iterations)))
        if frame.call not in self.callers:
            around = next((one.call for one in self.frames[-2::-1] if not one.hidden), -1)
            self.callers[frame.call] = (frame.file, frame.function, around)
        self.spend()

    def spend(self) -> None:
        budget = self.budget
        budget.used += 1
        if budget.used > budget.statements:
            if not budget.depth:
                self.gap("the budget for this program is used up: what comes after this is not known")
            raise OutOfBudget

    def enter_loop(self, loop: ast.stmt) -> tuple[Site, int]:
        self.entries += 1
        return site_of(self.frames[-1].file, loop), self.entries

    def iteration(self, site: Site, entry: int, number: int) -> Iteration:
        self.iteration_began[entry, number] = self.graph.tick()
        return Iteration(site, entry, number)

    def gap(self, what: str, node: ast.AST | None = None) -> None:
        """Remember a place where the interpreter gave up."""
        frame = self.frames[-1] if self.frames else None
        target = node if isinstance(node, (ast.stmt, ast.expr)) else frame.statement if frame is not None else None
        if frame is None or target is None or len(self.gaps) > 200:
            return
        self.gaps.setdefault((frame.file, target.lineno), Gap(what, site_of(frame.file, target)))

    # Unknown values

    def cutting(self, how: str, node: ast.AST | None = None) -> Cutting:
        where = self.here()
        site = site_of(self.frame.file, node) if isinstance(node, (ast.stmt, ast.expr)) else where.site
        return Cutting(where, how, reading.cut_name(self.frame.statement, node), site)

    def cut_in_mode(self) -> Cutting | None:
        """A value is computed while recording is off: the statement, of the call that switched it off, that does so."""
        off = self.graph.off
        if off is None or not off.depth:
            return off
        where = Where(self.here().levels[: off.depth])
        return replace(off, where=where, name=reading.cut_name(self.frame.statement, None))

    def depth(self) -> int:
        return len(self.here().levels)

    def unknown(self, *key: Any, cut: Cutting | None = None) -> Unknown:
        """An unknown value; without a key, one that is like no other."""
        if not key:
            return Unknown(None, cut)
        parts = tuple([part if type(part) in _PLAIN else ("#", id(part)) for part in key])
        found = self.unknowns.get(parts)
        if found is None:
            others = [part for part in key if type(part) not in _PLAIN]
            self.kept_alive.extend(others)
            plain = bool(others) and all(isinstance(part, Unknown) and part.plain for part in others)
            found = self.unknowns[parts] = Unknown(parts, cut, plain)
        return found

    def attribute_of(self, owner: Value, name: str, cut: Cutting | None = None) -> Unknown:
        """`unknown("attr", owner, name)`, which is asked for most."""
        parts = ("attr", ("#", id(owner)), name)
        found = self.unknowns.get(parts)
        if found is None:
            self.kept_alive.append(owner)
            found = self.unknowns[parts] = Unknown(parts, cut, isinstance(owner, Unknown) and owner.plain)
        return found

    def decide(self, value: Value, place: ast.AST, prefer: bool | None = None) -> bool:
        """How a test on an unknown value goes: the same way each time for the same value."""
        if isinstance(value, Lib):
            value = self.unknown("library", value.path)
        negated = self.negations.get(id(value))
        if negated is not None:
            return not self.decide(negated, place, None if prefer is None else not prefer)
        if isinstance(value, Unknown) and value.key is not None and id(value) in self.decided:
            self.hangs_on(value)
            return self.decided[id(value)]
        if self.importing:  # how the modules of a project are set up is not varied
            answer = prefer is not False
        else:
            key = (self.frames[-1].file, getattr(place, "lineno", 0), getattr(place, "col_offset", 0))
            answer = self.choices.answer(key, prefer)
            if isinstance(value, Unknown):
                self.decided_at[id(value)] = key
            self._depends(key)
        if isinstance(value, Unknown):
            self.decided[id(value)] = answer
            self.kept_alive.append(value)
        return answer

    def settled(self, value: Value, answer: bool) -> bool:
        """A test that goes the same way in every run."""
        if isinstance(value, Lib):
            value = self.unknown("library", value.path)
        negated = self.negations.get(id(value))
        if negated is not None:
            return not self.settled(negated, not answer)
        if isinstance(value, Unknown):
            self.decided[id(value)] = answer
            self.kept_alive.append(value)
        return answer

    # Whether it mattered how a test went

    def hangs_on(self, value: Unknown) -> None:
        """Something depends on how an earlier test on this value was decided."""
        place = self.decided_at.get(id(value))
        if place is not None:
            self._depends(place)

    def _depends(self, place: Place) -> None:
        if self.tested_at is not None:
            self.tested_at.append(place)  # of an `if`: it will be seen whether its branches do anything
        else:
            self.choices.touches.add(place)
            self.choices.matters.add(place)

    def settle(self, places: list[Place], data: bool, graph: bool) -> None:
        """What depended on the tests at some places: data, or more than that."""
        if data or graph:
            self.choices.touches.update(places)
        if graph:
            self.choices.matters.update(places)

    # Changes to modules, classes and functions, which the next run may meet again

    def note_change(self, names: dict[str, Value], name: str) -> None:
        self.changes.append((names, name, names.get(name, MISSING)))

    def undo(self) -> None:
        for names, name, before in reversed(self.changes):
            if before is MISSING:
                names.pop(name, None)
            else:
                names[name] = before
        self.changes.clear()

    # Names

    def name(self, value: Value, name: str, kind: str) -> None:
        """The program gives a value a name: the bridge of a later report."""
        if isinstance(value, Tensor):
            frame = self.frames[-1]
            if value.node is not None:
                names = value.node.names.setdefault(value.slot, [])
                if len(names) < 12:
                    at = (frame.file, frame.statement)
                    names.append(Naming(name, kind, frame.call, frame.moment, *at))
                if kind in ("local", "global"):
                    self.account.given[value.node.number] = (name, value.node)
            elif value.cut is not None:
                self.account.cut_names.setdefault(value.cut.site, {})[name] = None
            elif value.needs and not value.label:
                value.label = name
        elif isinstance(value, Instance):
            if not value.label:
                value.label = name
        elif isinstance(value, (tuple, list)) and len(value) <= 8:
            for position, one in enumerate(value):
                if isinstance(one, Tensor) and one.node is not None:
                    self.name(one, f"{name}[{position}]", "item" if isinstance(value, list) else kind)


spelled = kept(reading.spelled)  # a loop comes to the same expression again and again


def is_data(value: Value, depth: int = 0) -> bool:
    """A value that no graph depends on: a number, a text, something unknown or of a library, or a few of these."""
    if value is None or value is MISSING or isinstance(value, (str, int, float, Unknown, Lib, bytes, slice, range)):
        return True
    if depth < 3 and isinstance(value, (list, tuple, dict, set)) and len(value) <= 16:
        return all(is_data(one, depth + 1) for one in (value.values() if isinstance(value, dict) else value))
    return False


_PLAIN = frozenset({type(None), str, int, float, bool, bytes})


def site_of(file: str, node: ast.stmt | ast.expr) -> Site:
    """The span of a statement (of a compound one, its head) or expression. `ast` counts columns in bytes of
    UTF-8; they differ from code points only on lines with other than ASCII."""
    known: Site | None = getattr(node, "_site", None)
    if known is None or known.file != file:
        known = _site_of(file, node)
        node._site = known  # type: ignore[union-attr]
    return known


def _site_of(file: str, node: ast.stmt | ast.expr) -> Site:
    end_line, end_column = (
        reading.head_end(node) if isinstance(node, ast.stmt) else (node.end_lineno or node.lineno, node.end_col_offset)
    )
    return Site(file, node.lineno, end_line, node.col_offset, end_column)
