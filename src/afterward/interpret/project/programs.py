"""Which files have a program in them that could come to a pass: many only define things, or set up names and types.

What is left out here is left out for certain: what a file's own statements come to, as far as the interpreter follows
them, they come to through names that they mention. Where these lead to no word for a pass and to no import from the
project, there is none.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator

from afterward.follow.nodes import FUNCTIONS, blocks, inside
from afterward.interpret.project.project import calls_backward

_DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
_BUILTIN = frozenset(dir(builtins))

OfProject = Callable[[str], bool]  # is a module, as it is written in an import, one of the project's?


def acts(tree: ast.Module) -> bool:
    """Does a file do anything of its own? One that only imports and defines does not."""
    return any(_acts(statement) for statement in tree.body)


def _acts(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Import, ast.ImportFrom, *_DEFINITIONS)):
        return False
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        return statement.value is not None and any(isinstance(one, ast.Call) for one in inside(statement.value))
    if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
        return False
    return not isinstance(statement, ast.Pass)


class Reach:
    """What the statements of a file that run by themselves can come to."""

    def __init__(self, tree: ast.Module, data: bytes, of_project: OfProject) -> None:
        self.tree = tree
        self.lines = data.split(b"\n")
        self.of_project = of_project
        self.defined: dict[str, list[ast.stmt]] = {}
        self.imported: dict[str, bool] = {}  # name: is it of the project?
        self.everything = False  # a star import from the project
        self._survey(tree)

    def comes_to_a_pass(self) -> bool:
        """Could it? False only where it cannot."""
        seen: set[str] = set()
        todo: list[ast.AST] = list(_at_once(self.tree.body))
        while todo:
            part = todo.pop()
            if self._calls_backward(part):
                return True
            for name in _mentioned(part):
                if name in seen:
                    continue
                seen.add(name)
                if self.imported.get(name, False):
                    return True
                if name in self.defined:
                    todo.extend(self.defined[name])
                elif self.everything and name not in self.imported and name not in _BUILTIN:
                    return True
        return False

    def _survey(self, tree: ast.AST) -> None:
        """The functions and classes of the file, and what its imports bind, wherever they stand."""
        todo = [tree]
        while todo:
            node = todo.pop()
            if isinstance(node, _DEFINITIONS):
                self.defined.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.split(".")[0]
                    self._bind(alias.asname or top, self.of_project(alias.name) or self.of_project(top))
            elif isinstance(node, ast.ImportFrom):
                self._from(node)
            todo.extend(one for block in blocks(node) for one in block)

    def _from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        ours = bool(node.level) or self.of_project(module)
        for alias in node.names:
            if alias.name == "*":
                self.everything = self.everything or ours
            else:
                self._bind(alias.asname or alias.name, ours or self.of_project(f"{module}.{alias.name}"))

    def _bind(self, name: str, ours: bool) -> None:
        self.imported[name] = ours or self.imported.get(name, False)

    def _calls_backward(self, part: ast.AST) -> bool:
        """Is there a word for a pass in the lines of a part?"""
        first, last = getattr(part, "lineno", 1), getattr(part, "end_lineno", None)
        if isinstance(part, _DEFINITIONS):
            first = min([first, *(one.lineno for one in part.decorator_list)])
        return calls_backward(b"\n".join(self.lines[first - 1 : last]))


def _at_once(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """What of some statements runs when they are come to: of a function that is defined, its decorators and defaults;
    of a class that is, its body too, but nothing of its bases."""
    for statement in body:
        if isinstance(statement, FUNCTIONS):
            yield from statement.decorator_list
            yield from statement.args.defaults
            yield from (one for one in statement.args.kw_defaults if one is not None)
        elif isinstance(statement, ast.ClassDef):
            yield from statement.decorator_list
            yield from (one.value for one in statement.keywords)
            yield from _at_once(statement.body)
        elif not isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield statement


def _mentioned(part: ast.AST) -> Iterator[str]:
    for node in inside(part):
        if isinstance(node, ast.Name):
            yield node.id
