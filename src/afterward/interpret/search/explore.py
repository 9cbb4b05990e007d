"""Runs a program abstractly several times, so that tests on unknown values are seen to go both ways."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from afterward.interpret.fragments.losses import losses_begun
from afterward.interpret.fragments.reading import begun_before_loops, clears_gradients, is_body, snippets
from afterward.interpret.fragments.standins import Assumption
from afterward.interpret.history import silent
from afterward.interpret.library.frameworks.driving import iterations
from afterward.interpret.machine.budget import STATEMENTS, Budget
from afterward.interpret.machine.core import Broken, Choices, Place
from afterward.interpret.machine.machine import Machine
from afterward.interpret.machine.values import Module
from afterward.interpret.project.sources import Sources
from afterward.interpret.search.coverage import Coverage
from afterward.interpret.search.doors import Door, closed_doors
from afterward.interpret.search.entries import Entry, enter, entries
from afterward.interpret.search.unexecuted import Key, NotRun, history_ends_in
from afterward.model.history import Gap, History

RUNS = 6
ENOUGH = 2_500  # statements in all runs, after which no test is tried by itself any more
ALONE = 12_000  # statements for all functions that are called by themselves
_RECURSION = 12_000
Judge = Callable[[History], tuple[Any, ...]]
PROGRAM = ""  # among the modules; whoever imports its file gets a module of its own, as in Python


@dataclass(frozen=True, slots=True)
class Finding:
    """A pass that would fail, and whether it does so however the unknown tests go."""

    history: History
    caught: bool
    always: bool
    assumed: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class Quiet:
    """A run in which no pass failed: what the rules about silent faults need, and the statements that ran. Of a run
    that comes after one about which they say nothing, no history is written: it could only confirm."""

    history: History | None
    ran: set[Key]
    blind: bool = False  # a pass of it started from something unknown: it says nothing against another run
    cut_short: bool = False  # its budget was used up before its end
    assumed: tuple[Assumption, ...] = ()


@dataclass(slots=True)
class Part:
    """What came of one program: a file's own statements, or a function of it that nothing calls."""

    findings: list[Finding] = field(default_factory=list)
    silent: list[Quiet] = field(default_factory=list)
    not_run: Callable[[], NotRun] = lambda: NotRun((), set(), set())  # code that no run came to
    runs: int = 0
    passes: int = 0
    statements: int = 0
    alone: str = ""  # the function, where it is one that nothing calls
    door: Door | None = None  # the test that was made to go the other way
    closed: list[Door] = field(default_factory=list)
    said: tuple[Any, ...] | None = None  # by the rules, of the first run in which every pass is known

    @property
    def judged(self) -> bool:
        """Is there nothing that a later run could confirm?"""
        return self.said == ()


@dataclass(slots=True)
class Outcome:
    """What came of interpreting one file."""

    parts: list[Part] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    statements: int = 0
    modules: tuple[str, ...] = ()  # files of the project that it read
    coverage: Coverage = field(default_factory=Coverage)

    @property
    def findings(self) -> list[Finding]:
        return [one for part in self.parts for one in part.findings]

    @property
    def runs(self) -> int:
        return sum(part.runs for part in self.parts)


def interpret_file(
    file: str,
    tree: ast.Module,
    sources: Sources,
    program: bool = True,
    lenient: bool = False,
    judge: Judge | None = None,
) -> Outcome:
    """Interpret a file as a program, if there is one in it, and then those of its functions that it did not call.
    `lenient`: names that are defined nowhere get the meaning that their use gives them. `judge`: what the rules say of
    a run in which no pass failed; where they say nothing, later runs look for failing passes alone."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION))
    search = _Search(file, tree, sources, lenient, judge)
    try:
        if program:
            search.explore_all(search.run_file, "")
        for entry in entries(tree, sources.texts.get(file, b""), search.executed, lenient):
            if search.left <= 0:
                search.gaps.setdefault((file, 0), Gap("the budget for functions that nothing calls is used up", None))
                break
            search.explore_all(lambda choices, one=entry: search.run_entry(one, choices), entry.name)  # type: ignore[misc]
    finally:
        sys.setrecursionlimit(limit)
    search.outcome.gaps = list(search.gaps.values())
    return search.outcome


class _Search:
    """The runs over one file."""

    def __init__(self, file: str, tree: ast.Module, sources: Sources, lenient: bool, judge: Judge | None) -> None:
        self.file, self.tree, self.sources, self.judge = file, tree, sources, judge
        self.lenient = lenient
        self.left = ALONE
        self.outcome = Outcome()
        self.executed: set[int] = set()
        self.gaps: dict[tuple[str, int], Gap] = {}

    def explore_all(self, run: Callable[[Choices], Machine | None], alone: str) -> None:
        """Run a program, and then again with each test the other way that kept it from a pass."""
        part = self.explore(run, alone, None)
        for door in part.closed:
            behind = self.explore(run, alone, door)
            for inner in behind.closed[:1]:
                self.explore(run, alone, replace(inner, before=door))

    def explore(self, run: Callable[[Choices], Machine | None], alone: str, door: Door | None) -> Part:
        """Run a program until its tests on unknown values have gone both ways."""
        part = Part(alone=alone, door=door)
        self.outcome.parts.append(part)
        known: dict[Place, set[bool]] = {}
        all_ran: set[Key] = set()
        modules: dict[str, Module] = {}
        broken: dict[tuple[object, ...], tuple[Broken, bool]] = {}
        ran_first: set[Key] = set()
        executed: set[int] = set()
        first = True
        for choices in _schedule(part):
            machine = run(choices)
            if machine is None:
                break
            executed |= machine.executed
            all_ran |= set(machine.ran)
            for place, sides in choices.known.items():
                known.setdefault(place, set()).update(sides)
            self._note(machine, part, modules)
            ran_first = ran_first or set(machine.ran)
            doubtful = not first and machine.broken and history_ends_in(modules.values(), ran_first, set(machine.ran))
            for one in machine.broken if not doubtful else ():
                broken.setdefault(_key(one.history), (one, first and not alone and door is None))
            in_vain = first and door is None and not (machine.passes or machine.broken or machine.account.blind)
            machine.dismantle()
            if in_vain:
                part.closed = closed_doors(modules.values(), all_ran, executed, known, True)
                if part.closed:  # a setting or a size: tests on unknown values are varied where it is another
                    return part
            first = False
        part.findings = [Finding(one.history, one.caught, always, one.assumed) for one, always in broken.values()]
        if part.silent:
            ran = set().union(*(one.ran for one in part.silent))
            part.not_run = lambda: NotRun(modules.values(), ran, executed)
        if door is None or (door.before is None and not (part.passes or part.findings)):
            part.closed = closed_doors(modules.values(), all_ran, executed, known, bool(part.passes or part.findings))
        return part

    def _note(self, machine: Machine, part: Part, modules: dict[str, Module]) -> None:
        part.runs += 1
        part.passes += len(machine.passes)
        part.statements += machine.budget.used
        self.outcome.statements += machine.budget.used
        self.left -= machine.budget.used if part.alone else 0
        self.executed |= machine.executed
        modules.update(machine.modules)
        self.outcome.coverage.note(machine)
        quiet = silent.is_quiet(machine)
        evaluation = silent.evaluation(machine)
        history = silent.history(machine) if quiet and not part.judged else evaluation
        machine.undo()
        if quiet or evaluation is not None:
            assumed = machine.assumed.assumptions(machine)
            cut_short = machine.budget.used > machine.budget.statements
            part.silent.append(Quiet(history, set(machine.ran), machine.account.blind, cut_short, assumed))
            if self.judge is not None and history is not None and part.said is None and not machine.account.blind:
                part.said = self.judge(history)
        self.gaps.update(machine.gaps)
        files = {*self.outcome.modules, *(one.file for one in machine.modules.values())}
        self.outcome.modules = tuple(sorted(files))

    # One run

    def run_file(self, choices: Choices) -> Machine:
        """The file as a program."""
        machine = self._machine(choices, "__main__")
        module = machine.modules[PROGRAM]
        try:
            if self.lenient and is_body(self.tree):
                machine.enter(module, lambda: _repeat(machine, module))
            else:
                machine.run(module)
        except RecursionError:
            machine.frames.clear()
        return machine

    def run_entry(self, entry: Entry, choices: Choices) -> Machine | None:
        """The file as a library, and then one of its functions."""
        machine = self._machine(choices, "__library__")
        module = machine.modules[PROGRAM]
        try:
            machine.run(module)
            self.left -= machine.budget.used
            machine.budget.used, machine.budget.statements = 0, max(min(STATEMENTS, self.left), 1)
            enter(machine, module, entry)
        except RecursionError:
            machine.frames.clear()
        return machine

    def _machine(self, choices: Choices, name: str) -> Machine:
        budget = Budget(STATEMENTS if choices.leads else STATEMENTS // 4)
        machine = Machine(self.sources, choices, budget, self.lenient)
        part = self.outcome.parts[-1]
        machine.confirms, machine.judged = bool(part.silent), part.judged
        module = machine.modules[PROGRAM] = Module(name, self.file, self.tree)
        module.scope.names["__name__"] = name
        return machine


def _repeat(machine: Machine, module: Module) -> None:
    """The statements of a file as the body of a loop; what follows in it may do anything with what they computed."""
    tree = module.tree
    assert tree is not None
    machine.assumed.body = tree
    for _ in iterations(machine):
        for statements in snippets(tree):
            machine.assumed.begin_again()
            machine.at(statements[0])
            machine.assumed.compute_losses(machine, tree)
            machine.run_block(statements)
        kept = [*module.scope.names.values(), *machine.assumed.given.values()]
        machine.account.lose(kept if clears_gradients(tree) else [*kept, *machine.optimizers])
        machine.assumed.begin_again()
        for name in (*begun_before_loops(tree), *losses_begun(tree)):
            module.scope.names.pop(name, None)


def _key(history: History) -> tuple[object, ...]:
    for refusal in history.raised:
        return refusal.where.site.file, refusal.where.site.line, refusal.page
    late = next(history.broken_passes())
    assert late.where is not None
    site = (late.read_in or late.where).site
    return site.file, site.line, late.error


def _schedule(part: Part) -> Iterator[Choices]:
    """Ways for unknown tests to go: all true, all false, true once; then each place the other way by itself.
    Choices that come to what an earlier run has decided are left out."""
    ran = [_choices("true", part.door)]
    yield ran[0]
    met = dict(ran[0].met)
    for default in ("false", "once"):
        choices = _choices(default, part.door)
        choices.leads = not part.passes  # the first may have ended before it came to any
        touches = any(_touches(place, ran) for place in met)
        if touches and not _repeats(choices, ran):
            yield choices
            ran.append(choices)
            met.update(choices.met)
    done: set[Place] = set()
    for _ in range(RUNS):
        place = next((one for one in met if one not in done and _matters(one, ran)), None)
        if place is None or part.statements > ENOUGH:
            return
        done.add(place)
        choices = _choices("true", part.door, place)
        choices.leads = False
        if not _repeats(choices, ran):
            yield choices
            ran.append(choices)
            met.update(choices.met)


def _choices(default: str, door: Door | None, *flipped: Place) -> Choices:
    made = Choices(default, frozenset(flipped))
    doors = door.all if door is not None else ()
    made.settings = frozenset((one.place[0], path) for one in doors for path in one.settings)
    made.forced = {one.place: one.side for one in doors if not one.settings}
    return made


def _touches(place: Place, ran: list[Choices]) -> bool:
    """May it make a difference how a test goes? Not where both of its branches were seen to do nothing."""
    return len(_sides(place, ran)) < 2 or any(place in one.touches for one in ran)


def _matters(place: Place, ran: list[Choices]) -> bool:
    """Is a test worth a run of its own? Not where both of its branches only set numbers and texts."""
    return len(_sides(place, ran)) < 2 or any(place in one.matters for one in ran)


def _sides(place: Place, ran: list[Choices]) -> set[bool]:
    return {side for one in ran for side in one.sides.get(place, ())}


def _repeats(choices: Choices, ran: list[Choices]) -> bool:
    return any(choices.would_repeat(one.trace) for one in ran)
