"""Runs a program abstractly several times, so that tests on unknown values are seen to go both ways."""

from __future__ import annotations

import ast
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from afterward.interpret import library
from afterward.interpret.history import silent
from afterward.interpret.machine.budget import STATEMENTS, Budget
from afterward.interpret.machine.core import Broken, Choices, Place
from afterward.interpret.machine.machine import Machine
from afterward.interpret.machine.values import Bound, Class, Function, Instance, Module, Value
from afterward.interpret.project.sources import Sources
from afterward.interpret.search.unexecuted import Key, history_ends_in, words_not_run
from afterward.model.history import Gap, History

_PASS = re.compile(rb"\.\s*(?:manual_)?(?:backward|grad)\b|\btraining_step\b")
RUNS = 6
ENOUGH = 2_500  # statements in all runs, after which no test is tried by itself any more
ALONE = 12_000  # statements for all functions that are called by themselves
_RECURSION = 12_000
PROGRAM = ""  # among the modules; whoever imports its file gets a module of its own, as in Python


@dataclass(frozen=True, slots=True)
class Finding:
    """A pass that would fail, and whether it does so however the unknown tests go."""

    history: History
    caught: bool
    always: bool


@dataclass(frozen=True, slots=True)
class Quiet:
    """A run in which no pass failed: what the rules about silent faults need, and the statements that ran."""

    history: History
    ran: set[Key]
    blind: bool = False  # a pass of it started from something unknown: it says nothing against another run


@dataclass(slots=True)
class Outcome:
    """What came of interpreting one file."""

    findings: list[Finding] = field(default_factory=list)
    silent: list[Quiet] = field(default_factory=list)
    not_run: Callable[[], frozenset[str]] = frozenset  # words in code that no run came to
    gaps: list[Gap] = field(default_factory=list)
    runs: int = 0
    statements: int = 0
    modules: tuple[str, ...] = ()  # files of the project that it read


def interpret_file(file: str, tree: ast.Module, sources: Sources, program: bool = True) -> Outcome:
    """Interpret a file as a program, if there is one in it, and then those of its functions that it did not call."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION))
    outcome = Outcome()
    gaps: dict[tuple[str, int], Gap] = {}
    broken: dict[tuple[object, ...], tuple[Broken, bool]] = {}
    try:
        executed: set[int] = set()
        modules: dict[str, Module] = {}
        ran_first: set[Key] = set()
        first = True
        for choices in _schedule(outcome) if program else ():
            machine = _run(file, tree, sources, choices, outcome)
            executed |= machine.executed
            modules.update(machine.modules)
            quiet = silent.history(machine)
            machine.undo()
            if quiet is not None:
                outcome.silent.append(Quiet(quiet, set(machine.ran), machine.account.blind))
            gaps.update(machine.gaps)
            ran_first = ran_first or set(machine.ran)
            doubtful = not first and machine.broken and history_ends_in(modules.values(), ran_first, set(machine.ran))
            for one in machine.broken if not doubtful else ():
                broken.setdefault(_key(one.history), (one, first))
            outcome.modules = tuple(sorted({*outcome.modules, *(one.file for one in machine.modules.values())}))
            machine.dismantle()
            first = False
        for one, always in _alone(file, tree, sources, executed, outcome, gaps):
            broken.setdefault(_key(one.history), (one, always))
    finally:
        sys.setrecursionlimit(limit)
    outcome.findings = [Finding(one.history, one.caught, always) for one, always in broken.values()]
    outcome.gaps = list(gaps.values())
    if outcome.silent:
        ran = set().union(*(one.ran for one in outcome.silent))
        outcome.not_run = lambda: words_not_run(modules.values(), ran, executed)
    return outcome


def _key(history: History) -> tuple[object, ...]:
    late = next(history.broken_passes())
    assert late.where is not None
    site = (late.read_in or late.where).site
    return site.file, site.line, late.error


def _schedule(outcome: Outcome) -> Iterator[Choices]:
    """Ways for unknown tests to go: all true, all false, true once; then each place the other way by itself.
    Choices that come to what an earlier run has decided are left out."""
    ran = [Choices("true")]
    yield ran[0]
    met = dict(ran[0].met)
    for default in ("false", "once"):
        choices = Choices(default)
        touches = any(_touches(place, ran) for place in met)
        if touches and not _repeats(choices, ran):
            yield choices
            ran.append(choices)
            met.update(choices.met)
    done: set[Place] = set()
    for _ in range(RUNS):
        place = next((one for one in met if one not in done and _matters(one, ran)), None)
        if place is None or outcome.statements > ENOUGH:
            return
        done.add(place)
        choices = Choices("true", frozenset({place}))
        if not _repeats(choices, ran):
            yield choices
            ran.append(choices)
            met.update(choices.met)


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


def _run(file: str, tree: ast.Module, sources: Sources, choices: Choices, outcome: Outcome) -> Machine:
    first = choices.default == "true" and not choices.flipped
    machine = Machine(sources, choices, Budget(STATEMENTS if first else STATEMENTS // 4))
    machine.confirms = bool(outcome.silent)
    module = Module("__main__", file, tree)
    machine.modules[PROGRAM] = module
    module.scope.names["__name__"] = "__main__"
    try:
        machine.run(module)
    except RecursionError:
        machine.frames.clear()
    outcome.runs += 1
    outcome.statements += machine.budget.used
    return machine


# Functions on their own


def _alone(
    file: str,
    tree: ast.Module,
    sources: Sources,
    executed: set[int],
    outcome: Outcome,
    gaps: dict[tuple[str, int], Gap],
) -> Iterator[tuple[Broken, bool]]:
    """Functions with a pass in them that no run has come to, each called once with unknown arguments."""
    wanted = [node for node in _with_pass(tree, sources.texts.get(file, b"")) if id(node) not in executed]
    machine: Machine | None = None
    left = ALONE
    for node in wanted[:30]:
        if left <= 0:
            gaps.setdefault((file, 0), Gap("the budget for functions that nothing calls is used up", None))
            return
        try:
            if machine is None:
                machine = Machine(sources, Choices("true"), Budget(min(STATEMENTS, left)))
                module = Module("__library__", file, tree)
                machine.modules[PROGRAM] = module
                module.scope.names["__name__"] = "__library__"
                machine.run(module)
                left -= machine.budget.used
            function = _find(module, node)
            before = len(machine.broken)
            machine.budget.used, machine.budget.statements = 0, max(min(STATEMENTS, left), 1)
            if function is not None:
                _enter(machine, module, function)
        except RecursionError:
            machine = None
            continue
        finally:
            if machine is not None:
                machine.undo()
        outcome.runs += 1
        outcome.statements += machine.budget.used
        left -= machine.budget.used
        gaps.update(machine.gaps)
        for one in machine.broken[before:]:
            yield one, False
        if machine.passes:  # what one function has swept must not be held against the next
            machine.dismantle()
            machine = None
    if machine is not None:
        machine.dismantle()


def _with_pass(tree: ast.Module, text: bytes) -> list[ast.AST]:
    """The functions with a pass in them, in the order in which `ast.walk` comes to them."""
    lines = [text.count(b"\n", 0, match.start()) + 1 for match in _PASS.finditer(text)]
    found: list[ast.AST] = []
    todo: deque[ast.AST] = deque([tree])
    while todo:
        node = todo.popleft()
        first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", None) or len(text)
        if not isinstance(node, ast.ExceptHandler) and not any(first <= line <= last for line in lines):
            continue
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _sweeps(node):
            found.append(node)
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, block, None)
            if isinstance(inner, list):
                todo.extend(inner)
    return found


def _sweeps(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    passes = ("backward", "grad", "manual_backward")
    return function.name == "training_step" or any(
        isinstance(one, ast.Attribute) and one.attr in passes for one in ast.walk(function)
    )


def _find(module: Module, node: ast.AST) -> Value:
    """The function, or the class and function, that a definition at the top of a module became."""
    for value in module.scope.names.values():
        if isinstance(value, Function) and value.node is node:
            return value
        if isinstance(value, Class):
            for member in value.attributes.values():
                if isinstance(member, Function) and member.node is node:
                    return (value, member)
    return None


def _enter(machine: Machine, module: Module, function: Value) -> None:
    if isinstance(function, tuple):
        cls, member = function
        if member.kind == "static" or cls.derives_from("torch.autograd.Function"):
            return
        made: list[Value] = []
        machine.enter_function(module, _maker(cls, made), [])
        if not made or not isinstance(made[0], Instance):
            return
        driver = library.driver(made[0], member) or Bound(member, made[0])
        machine.enter_function(module, driver, [])
    else:
        machine.enter_function(module, function, [])


def _maker(cls: Class, made: list[Value]) -> Value:
    from afterward.interpret.machine.values import Native

    return Native(lambda machine, args, kwargs: made.append(machine.instantiate(cls, [], {}, None)), "make")
