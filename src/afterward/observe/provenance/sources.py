"""The source of the marked files: their statements, and where these stand."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from functools import lru_cache

from afterward.follow.path import Place
from afterward.follow.reading import holders, names_read, outward
from afterward.model.site import Iteration, Site
from afterward.observe.marks.rewrite import as_return
from afterward.observe.marks.statements import Statement, Statements


class Sources:
    """The syntax trees of the marked files, parsed when somebody asks."""

    def __init__(self, statements: Statements) -> None:
        self.statements = statements
        self._trees: dict[str, dict[tuple[int, int], ast.stmt]] = {}
        self._around: dict[str, dict[ast.stmt, ast.stmt]] = {}
        self._sites: dict[int, Site] = {}

    def text(self, file: str) -> str:
        if file not in self.statements.sources:
            try:
                with open(file, encoding="utf-8", errors="replace") as handle:
                    self.statements.sources[file] = handle.read()
            except OSError:  # a cell of a notebook is no file, but Python's own tracebacks can show it
                self.statements.sources[file] = "".join(linecache.getlines(file))
        return self.statements.sources[file]

    def entry(self, number: int) -> Statement:
        return self.statements.table[number]

    def file_at(self, file: str, moment: int | None) -> str:
        return self.statements.file_at(file, moment)

    def entered_at(self, loop: Iteration) -> int:
        return loop.entry  # a loop goes by the moment at which it was entered

    def executed_at(self, place: Place) -> Site:
        return self.site(self.statements.table[place.number], place.moment)

    def statement(self, number: int) -> ast.stmt | None:
        entry = self.statements.table[number]
        return self.statement_at(entry.file, entry.line, entry.column)

    def statement_at(self, file: str, line: int, column: int) -> ast.stmt | None:
        if file not in self._trees:
            self._trees[file] = _by_position(self.text(file))
        return self._trees[file].get((line, column))

    def statement_on(self, file: str, line: int) -> ast.stmt | None:
        """The innermost statement that a line belongs to."""
        self.statement_at(file, line, 0)
        around = [one for one in self._trees[file].values() if one.lineno <= line <= (one.end_lineno or one.lineno)]
        return min(around, key=lambda one: (one.end_lineno or one.lineno) - one.lineno, default=None)

    def definition(self, file: str, line: int, name: str) -> ast.FunctionDef | None:
        """The function that begins on a line of a marked file; one that is decorated is not what it says."""
        self.statement_at(file, line, 0)
        for (first, _), found in self._trees[file].items():
            if first == line and isinstance(found, ast.FunctionDef) and found.name == name:
                return found if not found.decorator_list else None
        return None

    def statements_of(self, file: str) -> list[ast.stmt]:
        """All statements of a file, in the order in which they are written."""
        self.statement_at(file, 1, 0)
        return sorted(self._trees[file].values(), key=lambda one: (one.lineno, one.col_offset))

    def around(self, file: str, statement: ast.stmt) -> Iterator[ast.stmt]:
        """The statements that hold this one, innermost first, up to the function it is in."""
        if file not in self._around:
            self.statement_at(file, 1, 0)
            self._around[file] = holders(set(self._trees[file].values()))
        return outward(self._around[file], statement)

    def names_read(self, file: str) -> frozenset[str] | None:
        return _names_read(self.text(file))

    def site(self, entry: Statement, moment: int | None = None) -> Site:
        """Columns in code points, as the reader counts them; `ast` counts bytes."""
        known = self._sites.get(id(entry))
        if known is not None and not self.statements.runs:  # a cell of a notebook changes its name
            return known
        lines = self._lines(entry.file)
        column = _points(lines, entry.line, entry.column)
        end = None if entry.end_column is None else _points(lines, entry.end_line, entry.end_column)
        site = Site(self.statements.file_at(entry.file, moment), entry.line, entry.end_line, column, end)
        self._sites[id(entry)] = site  # the table of statements keeps its entries for good
        return site

    def site_of(self, file: str, node: ast.expr | ast.stmt) -> Site:
        lines = self._lines(file)
        end_line = node.end_lineno or node.lineno
        end_column = _points(lines, end_line, node.end_col_offset or 0)
        return Site(file, node.lineno, end_line, _points(lines, node.lineno, node.col_offset), end_column)

    def line(self, file: str, number: int) -> str:
        lines = self._lines(file)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def _lines(self, file: str) -> tuple[str, ...]:
        return _split(self.text(file))


@lru_cache(maxsize=64)
def _split(text: str) -> tuple[str, ...]:
    return tuple(text.splitlines())


def _points(lines: tuple[str, ...], line: int, column: int) -> int:
    if not 0 < line <= len(lines) or lines[line - 1].isascii():
        return column
    return len(lines[line - 1].encode()[:column].decode(errors="ignore"))


@lru_cache(maxsize=64)
def _names_read(text: str) -> frozenset[str] | None:
    try:
        return names_read(ast.parse(text))
    except (SyntaxError, ValueError):
        return None


def _by_position(text: str) -> dict[tuple[int, int], ast.stmt]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return {}
    lambdas = (as_return(node.body) for node in ast.walk(tree) if isinstance(node, ast.Lambda))
    found = {(statement.lineno, statement.col_offset): statement for statement in lambdas}
    return found | {(node.lineno, node.col_offset): node for node in ast.walk(tree) if isinstance(node, ast.stmt)}
