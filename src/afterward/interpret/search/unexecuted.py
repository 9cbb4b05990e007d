"""What no run of a program came to. A silent fault is reported only if nothing in there could undo it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from afterward.follow.nodes import FUNCTIONS, blocks, inside, of_file
from afterward.interpret.machine.values import Module
from afterward.interpret.search.settings import settings_in
from afterward.model.site import Site

Key = tuple[str, int, int]  # file, line and column of a statement
_END = 10**9
_DEEP = 6  # calls of functions that nothing ran, followed from one to the next


@dataclass(frozen=True, slots=True)
class Unseen:
    """A statement that no run came to, though the function around it ran."""

    file: str
    around: tuple[int, int]  # the lines of that function; of a statement outside all functions, of the file
    words: frozenset[str]  # names and attributes in it, and in functions that only it would call
    attributes: frozenset[str]


class NotRun:
    """What no run of a program came to, and whether it could touch what a finding is about."""

    def __init__(self, modules: Iterable[Module], ran: set[Key], executed: set[int]) -> None:
        self.trees = {module.file: module.tree for module in modules if module.tree is not None}
        self.statements = list(self._find(ran, executed))

    def can_undo(self, sites: Iterable[Site], words: frozenset[str]) -> bool:
        """Is there a word of these in code that can touch what happens at some places: in one of the functions that
        they are in, or by way of an attribute that these set?"""
        some = [one for one in self.statements if one.words & words]
        if not some:
            return False
        places = {(site.file, site.line) for site in sites}
        held: frozenset[str] | None = None
        for one in some:
            if any(file == one.file and one.around[0] <= line <= one.around[1] for file, line in places):
                return True
            if held is None:
                held = self._attributes_set(places)
            if one.attributes & held:
                return True
        return False

    def _find(self, ran: set[Key], executed: set[int]) -> Iterator[Unseen]:
        defined: dict[str, list[ast.AST]] = {}
        for tree in self.trees.values():
            for node in of_file(tree):
                if isinstance(node, FUNCTIONS) and id(node) not in executed:
                    defined.setdefault(node.name, []).append(node)
        for file, tree in self.trees.items():
            for statement, around in _skipped(file, tree, tree, tree.body, ran, executed):
                parts = _with_called(statement, defined)
                words = frozenset().union(*(words_in(one) for one in parts))
                attributes = frozenset(
                    one.attr for part in parts for one in inside(part) if isinstance(one, ast.Attribute)
                )
                first, last = getattr(around, "lineno", 0), getattr(around, "end_lineno", None) or _END
                yield Unseen(file, (first, last), words, attributes)

    def _attributes_set(self, places: set[tuple[str, int]]) -> frozenset[str]:
        """The attributes that are set in the functions that some places are in."""
        found: set[str] = set()
        for file, line in places:
            tree = self.trees.get(file)
            for function in of_file(tree) if tree is not None else ():
                if isinstance(function, FUNCTIONS) and function.lineno <= line <= (function.end_lineno or 0):
                    found |= {
                        one.attr
                        for one in inside(function)
                        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
                    }
        return frozenset(found)


def _with_called(statement: ast.AST, defined: dict[str, list[ast.AST]]) -> list[ast.AST]:
    """A statement, and the functions that never ran and that it mentions, these and so on."""
    parts, seen, news = [statement], {id(statement)}, [statement]
    for _ in range(_DEEP):
        called = [node for one in news for word in words_in(one) for node in defined.get(word, ())]
        news = [one for one in {id(node): node for node in called}.values() if id(one) not in seen]
        seen |= {id(one) for one in news}
        parts += news
        if not news:
            break
    return parts


def _skipped(
    file: str, tree: ast.Module, around: ast.AST, body: list[ast.stmt], ran: set[Key], executed: set[int]
) -> Iterator[tuple[ast.stmt, ast.AST]]:
    for statement in body:
        if isinstance(statement, FUNCTIONS):
            if id(statement) in executed:
                yield from _skipped(file, tree, statement, statement.body, ran, executed)
            continue
        if (file, statement.lineno, statement.col_offset) not in ran:
            yield statement, around
            continue
        if isinstance(statement, ast.If) and _is_main_guard(statement) and not _began(file, statement.body, ran):
            continue  # of an imported module: it does not run
        inner = list(blocks(statement))
        if isinstance(statement, ast.If) and settings_in(statement.test, tree):
            inner = [block for block in inner if block and _began(file, block, ran)] or inner  # the other never runs
        for block in inner:
            yield from _skipped(file, tree, around, block, ran, executed)


def _began(file: str, block: list[ast.stmt], ran: set[Key]) -> bool:
    return (file, block[0].lineno, block[0].col_offset) in ran


def _is_main_guard(statement: ast.If) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "__name__" for one in ast.walk(statement.test))


def words_in(node: ast.AST) -> set[str]:
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in inside(node)
        if isinstance(one, (ast.Name, ast.Attribute))
    }


# Words for the end of a history, and the starts of names that people give to functions that bring it about.
_ENDS = frozenset({"detach", "detach_", "data", "no_grad", "item", "clear", "zeros", "zeros_like", "clone_detached"})
_BEGINNINGS = ("reset", "detach", "repackage", "init_hidden", "init_state", "clear", "zero_state")


def history_ends_in(modules: Iterable[Module], first: set[Key], now: set[Key]) -> bool:
    """Did the first run end a history in a branch that this run passed by? Then this run's failure is no news: the
    program has a cut, and whether it comes to it is not known here."""
    for module in modules:
        for node in of_file(module.tree) if module.tree is not None else ():
            if isinstance(node, ast.If) and (module.file, node.lineno, node.col_offset) in now:
                for statement in (*node.body, *node.orelse):
                    key = (module.file, statement.lineno, statement.col_offset)
                    if key in first and key not in now and _ends_history(words_in(statement)):
                        return True
    return False


def _ends_history(words: set[str]) -> bool:
    return bool(words & _ENDS) or any(word.lstrip("_").startswith(_BEGINNINGS) for word in words)
