"""Marks the cells of a notebook as they are run.

All cells are one program that goes on and on: they share a namespace, so they share a scope. A cell that is run again
keeps its numbers (memory grows with the text of the notebook, not with how often it is run) and gets a new name. The
runs of the cell that is running now count as the iterations of a loop, for that is what running it again and again is.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import sys
from dataclasses import dataclass, field
from types import FunctionType, ModuleType

from afterward.observe.marks.rewrite import (
    BYTECODE_COMPILERS,
    Module,
    Names,
    _nowhere,
    _Scope,
    _split_head,
    reads_bytecode,
)
from afterward.observe.marks.statements import CELL, LOOP, Statement, Statements


@dataclass
class _Cell:
    """A text that was run as a cell: the numbers of its statements, and of the parts that a magic runs for it."""

    file: str  # its first name
    head: int
    parts: dict[bytes, range] = field(default_factory=dict)


class Cells:
    """The cells of one notebook."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements
        self.scope = statements.new_scope()
        self._known: dict[bytes, _Cell] = {}
        self._now: _Cell | None = None
        self._into_functions = True

    def begin(self, tree: ast.Module, name: str, text: str, moment: int) -> ast.Module:
        """The cell with marks. `text` is its source, `moment` the number of marks that were made before it."""
        key = _digest(tree)
        cell = self._known.get(key)
        if cell is None:
            head = Statement(name, 0, 0, 0, None, self.scope, "", CELL, ())
            cell = self._known[key] = _Cell(name, self.statements.add(head))
        self.statements.sources[cell.file] = self.statements.sources[name] = text
        self.statements.runs.setdefault(cell.file, []).append((moment, name))
        self._make_current(cell)
        marked = self._marked(tree, cell, key, 0)
        return _with_mark_first(marked, cell.head)

    def inside(self, tree: ast.Module, text: str, offset: int) -> ast.Module:
        """A part of the present cell that a magic runs: it begins `offset` lines into the cell, whose text this is."""
        cell = self._now
        if cell is None:
            return tree
        for name in (cell.file, self.statements.runs[cell.file][-1][1]):
            self.statements.sources[name] = text
        single = len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)
        marked = self._marked(tree, cell, _digest(tree), offset)
        return _as_one_expression(marked) if single else marked

    def _marked(self, tree: ast.Module, cell: _Cell, key: bytes, offset: int) -> ast.Module:
        if reads_bytecode(tree) or _compiler_at_hand():
            self._into_functions = False  # from now on any function may be given to such a compiler
        tree = copy.deepcopy(tree)
        again = cell.parts.get(key)
        first = len(self.statements) if again is None else again.start
        around = (cell.head,) if self._counts_runs(cell) else ()
        numbers = _Numbers(self.statements, first, offset, self.scope, around)
        scope = _CellScope(cell.file, numbers, self.scope, into_functions=self._into_functions)
        head, rest = _split_head(tree.body)
        tree.body = head + scope.block(rest)
        cell.parts[key] = range(first, numbers.next)
        return tree

    def _counts_runs(self, cell: _Cell) -> bool:
        return bool(self.statements.table[cell.head].flags & LOOP)

    def _make_current(self, cell: _Cell) -> None:
        """Runs of this cell are iterations from now on; what other cells did lies outside of that loop."""
        if self._now is not None and self._now is not cell:
            self._count_runs(self._now, False)
        self._now = cell
        if len(self.statements.runs[cell.file]) > 1:
            self._count_runs(cell, True)

    def _count_runs(self, cell: _Cell, yes: bool) -> None:
        if self._counts_runs(cell) == yes:
            return
        table = self.statements.table
        table[cell.head].flags = CELL | LOOP if yes else CELL
        for part in cell.parts.values():
            for number in part:
                entry = table[number]
                if entry.scope == self.scope:
                    entry.loops = (cell.head, *entry.loops) if yes else entry.loops[1:]


class _CellScope(_Scope):
    """The top level of a cell: a scope that was entered long ago and is never left."""

    def __init__(self, file: str, numbers: _Numbers, scope: int, *, into_functions: bool) -> None:
        module = Module(
            file, numbers, has_own_range=True, form=Names()
        )  # what other cells call `range` is not known here
        super().__init__(module, "<module>")
        self.number = scope
        self.entered = True
        self.into_functions = into_functions

    def _inside(self, statement: ast.stmt, number: int) -> None:
        if self.into_functions or not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            super()._inside(statement, number)


class _Numbers(Statements):
    """Hands out statement numbers: new ones, or for a text that was marked before those it had."""

    def __init__(self, real: Statements, first: int, offset: int, scope: int, around: tuple[int, ...]) -> None:
        self.real = real
        self.next = first
        self.offset = offset
        self.scope = scope
        self.around = around

    def new_scope(self) -> int:
        return self.real.new_scope()

    def add(self, statement: Statement) -> int:
        number, self.next = self.next, self.next + 1
        if number == len(self.real.table):
            statement.line += self.offset
            statement.end_line += self.offset
            if statement.scope == self.scope:
                statement.loops = (*self.around, *statement.loops)
            self.real.table.append(statement)
        return number


def _digest(tree: ast.Module) -> bytes:
    return hashlib.sha256(ast.dump(tree, include_attributes=True).encode("utf-8", "surrogatepass")).digest()


def _compiler_at_hand() -> bool:
    """Has the notebook a name for a compiler that reads bytecode? Nothing of the program runs to find out."""
    for value in list(vars(sys.modules["__main__"]).values()):
        if isinstance(value, ModuleType):
            home = value.__name__
        elif isinstance(value, (FunctionType, type)):
            home = value.__module__
        else:
            continue
        if isinstance(home, str) and home.split(".")[0] in BYTECODE_COMPILERS:
            return True
    return False


def _with_mark_first(tree: ast.Module, number: int) -> ast.Module:
    if not tree.body:
        return tree
    tree.body.insert(0, _nowhere(ast.Expr(Names().mark(number))))
    return tree


def _as_one_expression(tree: ast.Module) -> ast.Module:
    """A magic may treat a lone expression in a way of its own: it stays one, the mark inside it."""
    mark, statement = tree.body[-2:]
    if isinstance(mark, ast.Expr) and isinstance(statement, ast.Expr):
        both = ast.Tuple([mark.value, statement.value], ast.Load())
        second = ast.Subscript(both, ast.Constant(1), ast.Load())
        statement.value = ast.fix_missing_locations(ast.copy_location(second, statement.value))
        tree.body = [statement]
    return tree


def name_of_cell(file: str) -> str | None:
    """The name that a notebook shows for a cell, `In[7]`, where `file` is what its code calls itself."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    shown = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = shown(file) if shown is not None else None
    return str(named[1]) if named else None
