"""Tests on known values that keep a run from a pass: a flag that is off as shipped, a guard before the first pass.

A replay memory that is not full yet, a warm-up, a number of steps to wait: an interpreted run ends long before they are
over. Each such test goes the other way in runs of its own, and what is found there says on what it depends. Where a
setting decides, it is the setting that is not known in these runs, so that all tests on it agree.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from afterward.follow.nodes import FUNCTIONS, blocks, kept
from afterward.interpret.machine.branches import leaves
from afterward.interpret.machine.core import Place, spelled
from afterward.interpret.machine.values import Module
from afterward.interpret.search.settings import settings_in
from afterward.interpret.search.unexecuted import Key, words_in
from afterward.model.methods import BACKWARD

_ASKS = frozenset({"len", "bool", "int", "min", "max", "any", "all", "getattr"})  # what a test on settings may call
_SIZES = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
MOST = 3  # of one program
_DEEP = 4


@dataclass(frozen=True, slots=True)
class Door:
    """A test at a place that has to go the other way: `side` is how."""

    place: Place
    side: bool
    test: str
    settings: frozenset[str] = frozenset()  # names and attributes that are constants as shipped
    before: Door | None = None  # one that was opened first, and showed this one

    @property
    def all(self) -> tuple[Door, ...]:
        return (*(self.before.all if self.before is not None else ()), self)


def closed_doors(
    modules: Iterable[Module], ran: set[Key], executed: set[int], known: dict[Place, set[bool]], trains: bool
) -> list[Door]:
    """The tests, among those that always went one way because of what is known, that a pass lies behind. `trains`: a
    run came to a pass; then what comes again every so many steps is not opened."""
    trees = [(module.file, module.tree) for module in modules if module.tree is not None]
    never: dict[str, list[ast.AST]] = {}
    for _, tree in trees:
        for function in _surveyed(tree)[0]:
            if id(function) not in executed:
                never.setdefault(function.name, []).append(function)
    found: list[Door] = []
    for file, tree in trees:
        for statement, rest in _surveyed(tree)[1]:
            place = (file, statement.test.lineno, statement.test.col_offset)
            sides = known.get(place)
            if sides is None or len(sides) > 1 or not _about_settings(statement, trains):
                continue
            went = next(iter(sides))
            behind = [*(statement.orelse if went else statement.body), *rest]  # after a branch that left
            unseen = [one for one in behind if (file, one.lineno, one.col_offset) not in ran]
            if rest and rest[0] not in unseen:
                unseen = [one for one in unseen if one not in rest]
            settings = settings_in(statement.test, tree)
            if (settings or not _is_flag(statement.test)) and any(_comes_to_a_pass(one, never) for one in unseen):
                found.append(Door(place, not went, spelled(statement.test), settings))
    return found[:MOST]


_Surveyed = tuple[list[ast.FunctionDef | ast.AsyncFunctionDef], list[tuple[ast.If, list[ast.stmt]]]]


@kept
def _surveyed(tree: ast.AST) -> _Surveyed:
    """The functions in a tree, and every `if` with what follows it in its block: only statements are walked."""
    found: _Surveyed = ([], [])
    todo = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, FUNCTIONS):
            found[0].append(node)
        for block in blocks(node):
            found[1].extend((one, block[number + 1 :]) for number, one in enumerate(block) if isinstance(one, ast.If))
            todo.extend(block)
    found[0].sort(key=lambda one: one.lineno)
    found[1].sort(key=lambda one: (one[0].lineno, one[0].col_offset))
    return found


def _about_settings(statement: ast.If, trains: bool) -> bool:
    """Does a test ask about names, attributes and lengths only, and not whether something is there at all? One that
    compares sizes, that a block is left by, or that keeps a program from all of its passes may ask an object:
    `memory.size() < batch`, `not memory.is_ready()`, `t > start and memory.can_sample(batch)`."""
    test = statement.test
    asks = isinstance(test, ast.Compare) and all(isinstance(one, _SIZES) for one in test.ops)
    may_ask = asks or leaves(statement.body) or not trains
    for node in ast.walk(test):
        if (
            isinstance(node, ast.Call)
            and not may_ask
            and not (isinstance(node.func, ast.Name) and node.func.id in _ASKS)
        ):
            return False
        if isinstance(node, ast.Name) and node.id == "__name__":
            return False
        if isinstance(node, (ast.Is, ast.IsNot, ast.NamedExpr, ast.Await, ast.Lambda)):
            return False
        if isinstance(node, ast.Mod) and trains:
            return False  # nor what comes again every so many steps
    return not isinstance(test, ast.Constant)


def _is_flag(test: ast.expr) -> bool:
    """`flag`, `not self.flag`: a value that the program sets and resets says more than that a pass is near."""
    inner = test.operand if isinstance(test, ast.UnaryOp) else test
    return isinstance(inner, (ast.Name, ast.Attribute))


def _comes_to_a_pass(node: ast.AST, never: dict[str, list[ast.AST]]) -> bool:
    todo, seen = [node], {id(node)}
    for _ in range(_DEEP):
        words = set().union(*(words_in(one) for one in todo)) if todo else set()
        if words & BACKWARD:
            return True
        todo = [one for word in words for one in never.get(word, ()) if id(one) not in seen]
        seen |= {id(one) for one in todo}
    return False
