"""What no run of a program came to. A silent fault is told only if nothing in there could undo it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from afterward.interpret.machine.values import Module

Key = tuple[str, int, int]  # file, line and column of a statement
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEEP = 6  # calls of functions that nobody ran, followed from one to the next


def words_not_run(modules: Iterable[Module], ran: set[Key], executed: set[int]) -> frozenset[str]:
    """The names and attributes in statements that did not run though the function around them did."""
    trees = [(module.file, module.tree) for module in modules if module.tree is not None]
    defined: dict[str, list[ast.AST]] = {}
    for _, tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, _FUNCTIONS):
                defined.setdefault(node.name, []).append(node)
    found: set[str] = set()
    for file, tree in trees:
        for statement in _skipped(file, tree.body, ran, executed):
            found |= _words(statement)
    news = set(found)
    for _ in range(_DEEP):
        called = [node for word in news for node in defined.get(word, ()) if id(node) not in executed]
        news = set().union(*(_words(node) for node in called)) - found if called else set()
        found |= news
        if not news:
            break
    return frozenset(found)


def _skipped(file: str, body: list[ast.stmt], ran: set[Key], executed: set[int]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, _FUNCTIONS):
            if id(statement) in executed:
                yield from _skipped(file, statement.body, ran, executed)
            continue
        if (file, statement.lineno, statement.col_offset) not in ran:
            yield statement
            continue
        for block in ("body", "orelse", "finalbody"):
            inner = getattr(statement, block, None)
            if isinstance(inner, list):
                yield from _skipped(file, inner, ran, executed)
        for handler in getattr(statement, "handlers", ()):
            yield from _skipped(file, handler.body, ran, executed)
        for case in getattr(statement, "cases", ()):
            yield from _skipped(file, case.body, ran, executed)


def _words(node: ast.AST) -> set[str]:
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node)
        if isinstance(one, (ast.Name, ast.Attribute))
    }


# Words for the end of a history, and the starts of names that people give to functions that bring it about.
_ENDS = frozenset({"detach", "detach_", "data", "no_grad", "item", "clear", "zeros", "zeros_like", "clone_detached"})
_BEGINNINGS = ("reset", "detach", "repackage", "init_hidden", "init_state", "clear", "zero_state")


def history_ends_in(modules: Iterable[Module], first: set[Key], now: set[Key]) -> bool:
    """Did the first run end a history in a branch that this run passed by? Then this run's failure is no news: the
    program has a cut, and whether it comes to it is not known here."""
    for module in modules:
        for node in ast.walk(module.tree) if module.tree is not None else ():
            if isinstance(node, ast.If) and (module.file, node.lineno, node.col_offset) in now:
                for statement in (*node.body, *node.orelse):
                    key = (module.file, statement.lineno, statement.col_offset)
                    if key in first and key not in now and _ends_history(_words(statement)):
                        return True
    return False


def _ends_history(words: set[str]) -> bool:
    return bool(words & _ENDS) or any(word.lstrip("_").startswith(_BEGINNINGS) for word in words)
