"""Finds the steps of optimizers that the source puts after a `backward()`, before the next one of its function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Protocol

from afterward.follow.nodes import FUNCTIONS
from afterward.follow.reading import parts_run
from afterward.model.site import Site


class Source(Protocol):
    """The files of a program, as far as this asks for them."""

    def statement_at(self, file: str, line: int, column: int) -> ast.stmt | None: ...

    def statements_of(self, file: str) -> list[ast.stmt]:
        """All statements of a file, in the order in which they are written."""

    def around(self, file: str, statement: ast.stmt) -> Iterator[ast.stmt]:
        """The statements that hold this one, innermost first, up to the function it is in."""


def steps_ahead(source: Source, site: Site) -> Iterator[list[ast.expr]]:
    """Of each call of a `step`, what it may be that it steps, the last one what it is called on."""
    statement = source.statement_at(site.file, site.line, site.column)
    if statement is None:
        return
    function = _function(source, site.file, statement)
    for later in source.statements_of(site.file):
        if (later.lineno, later.col_offset) > (site.line, site.column):
            if _function(source, site.file, later) is not function:
                continue
            for node in parts_run(later):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    if node.func.attr == "backward":
                        return
                    if node.func.attr == "step":
                        yield [*node.args[:1], node.func.value]


def _function(source: Source, file: str, statement: ast.stmt) -> ast.stmt | None:
    around = source.around(file, statement)
    return next((one for one in around if isinstance(one, FUNCTIONS)), None)
