"""A source file as LibCST reads it, with the questions that a remedy asks: which statement, which block."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache, cached_property

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from afterward.errors import SourceUnreadable
from afterward.model.site import Site
from afterward.repair.edits import Edit

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement
Loop = cst.For | cst.While
FunctionBody = cst.FunctionDef | cst.Module | cst.ClassDef


# A parenthesis, and what may stand inside of it before or behind an expression: comments have parentheses themselves.
_OPENING = re.compile(r"\((?:\s|\\(?=[\r\n])|#[^\r\n]*(?=[\r\n]))*\Z")
_CLOSING = re.compile(r"(?:\s|\\(?=[\r\n])|#[^\r\n]*(?=[\r\n]))*\)")


class Source:
    """One file. Lines count from 1 and columns from 0, as a `Site` has them."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        try:
            wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
            self._ranges = wrapper.resolve(PositionProvider)
        except (cst.ParserSyntaxError, RecursionError, ValueError) as error:
            raise SourceUnreadable(f"{file}: cannot be edited: {str(error).splitlines()[0]}") from None
        self.module = wrapper.module
        self._parents = {child: node for node in (self.module, *_descendants(self.module)) for child in children(node)}

    @cached_property
    def newline(self) -> str:
        """The line end that the file uses first; Python knows three."""
        found = re.search(r"\r\n|\n|\r", self.text)
        return found.group() if found is not None else "\n"

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins. Python ends lines at \\n, \\r\\n and \\r, nowhere else."""
        return [0, *(match.end() for match in re.finditer(r"\r\n|\n|\r", self.text))]

    @cached_property
    def statements(self) -> list[Statement]:
        """Every statement that stands in a block: an `elif` does not."""
        kinds = (cst.SimpleStatementLine, cst.BaseCompoundStatement)
        blocks = (cst.IndentedBlock, cst.Module)
        return [
            node for node, parent in self._parents.items() if isinstance(node, kinds) and isinstance(parent, blocks)
        ]

    # Where things are

    def range(self, node: cst.CSTNode) -> CodeRange:
        found = self._ranges[node]
        assert isinstance(found, CodeRange)
        return found

    def offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column

    def line(self, node: cst.CSTNode) -> int:
        return self.range(node).start.line

    def site(self, node: cst.CSTNode) -> Site:
        """The lines of a node."""
        place = self.range(node)
        return Site(self.file, place.start.line, place.end.line)

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """The characters of a node, the parentheses around it included."""
        start, end = self.bare_span(node)
        for _ in getattr(node, "lpar", ()):
            found = _OPENING.search(self.text, max(start - 10_000, 0), start)
            start = found.start() if found is not None else self.text.rindex("(", 0, start)
            closing = _CLOSING.match(self.text, end)
            end = closing.end() if closing is not None else self.text.index(")", end) + 1
        return start, end

    def bare_span(self, node: cst.CSTNode) -> tuple[int, int]:
        """The characters of a node without its own outer parentheses."""
        place = self.range(node)
        return self.offset(place.start.line, place.start.column), self.offset(place.end.line, place.end.column)

    def code(self, node: cst.CSTNode) -> str:
        """The text of a node as it stands in the file, without its own outer parentheses."""
        start, end = self.bare_span(node)
        return self.text[start:end]

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def holder(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        """What the block that a statement stands in belongs to: an `if`, a loop, a function, a class."""
        return self.parent(self.parent(statement) or statement)

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        current = self.parent(node)
        while current is not None:
            yield current
            current = self.parent(current)

    # Statements and blocks

    def statement_at(self, site: Site | None) -> Statement | None:
        """The statement of a site: the innermost one whose own lines hold the site's first line."""
        if site is None or site.file != self.file:
            return None
        best: tuple[int, Statement] | None = None
        for statement in self.statements:
            first, last = self.head_lines(statement)
            if first <= site.line <= last and (best is None or last - first <= best[0]):
                best = (last - first, statement)
        return best[1] if best is not None else None

    def head_lines(self, statement: Statement) -> tuple[int, int]:
        """First and last line of a statement, the body of a compound one left out."""
        place = self.range(statement)
        body = getattr(statement, "body", None)
        if isinstance(statement, cst.SimpleStatementLine) or body is None:
            return place.start.line, place.end.line
        inner = self.range(body.body[0]) if getattr(body, "body", None) else self.range(body)
        return place.start.line, max(place.start.line, inner.start.line - 1)

    def statement_of(self, node: cst.CSTNode) -> Statement | None:
        """The innermost statement that a node belongs to."""
        for each in (node, *self.ancestors(node)):
            if isinstance(each, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                return each
        return None

    def block_of(self, statement: Statement) -> list[Statement] | None:
        """The statements of the block that a statement stands in; None for a body on the line of its head."""
        holder = self.parent(statement)
        if isinstance(holder, (cst.IndentedBlock, cst.Module)):
            return [s for s in holder.body if isinstance(s, (cst.SimpleStatementLine, cst.BaseCompoundStatement))]
        return None

    def before(self, statement: Statement) -> list[Statement]:
        """The statements of its block that come before it."""
        block = self.block_of(statement) or []
        return block[: block.index(statement)] if statement in block else []

    def after(self, statement: Statement) -> list[Statement]:
        """And those that come after it."""
        block = self.block_of(statement) or []
        return block[block.index(statement) + 1 :] if statement in block else []

    def between(self, first: Statement, second: Statement) -> list[Statement] | None:
        """The statements between two of one block, the first of them first; None where they are not so."""
        after = self.after(first)
        return after[: after.index(second)] if second in after else None

    def in_block(self, inner: cst.CSTNode, block: list[Statement]) -> Statement | None:
        """The statement of a block that holds a node."""
        members = {id(s): s for s in block}
        for each in (inner, *self.ancestors(inner)):
            if id(each) in members:
                return members[id(each)]
        return None

    def body(self, statement: cst.CSTNode) -> list[Statement] | None:
        """The statements in the body of a loop or function, a docstring left out."""
        block = getattr(statement, "body", None)
        if not isinstance(block, cst.IndentedBlock):
            return None
        found = [s for s in block.body if isinstance(s, (cst.SimpleStatementLine, cst.BaseCompoundStatement))]
        return found[1:] if len(found) > 1 and _is_docstring(found[0]) else found

    def function_of(self, node: cst.CSTNode) -> FunctionBody:
        """The function (or module) whose code a node is part of."""
        for each in self.ancestors(node):
            if isinstance(each, (cst.FunctionDef, cst.Module)):
                return each
        return self.module

    def within(self, function: cst.CSTNode) -> list[Statement]:
        """All statements of a function's (or the module's) own code, from the first line to the last."""
        return sorted((each for each in self.statements if self.function_of(each) is function), key=self.line)

    def loops_around(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """Loops and comprehensions around a node within its function, innermost first."""
        found: list[cst.CSTNode] = []
        for each in self.ancestors(node):
            if isinstance(each, (cst.FunctionDef, cst.Lambda, cst.Module)):
                break
            if isinstance(each, (cst.For, cst.While, cst.CompFor)):
                found.append(each)
        return found

    def loop_at(self, site: Site | None) -> Loop | None:
        found = self.statement_at(site)
        return found if isinstance(found, (cst.For, cst.While)) else None

    def expression_at(self, site: Site | None) -> cst.BaseExpression | None:
        """The outermost expression that has exactly a site's span."""
        if site is None or site.file != self.file or site.end_column is None:
            return None
        wanted = ((site.line, site.column), (site.end_line, site.end_column))
        best: cst.BaseExpression | None = None
        for node, place in self._ranges.items():
            if not isinstance(node, cst.BaseExpression) or not isinstance(place, CodeRange):
                continue
            if ((place.start.line, place.start.column), (place.end.line, place.end.column)) != wanted:
                continue
            if best is None or best in set(_descendants(node)):
                best = node
        return best

    # Edits

    def indent(self, statement: Statement) -> str:
        start = self._starts[self.range(statement).start.line - 1]
        return re.match(r"[ \t\f]*", self.text[start:]).group()  # type: ignore[union-attr]

    def unit(self, statement: Statement) -> str:
        """What one more level of indentation looks like where a statement stands."""
        return "\t" if "\t" in self.indent(statement) else self.module.default_indent

    def lines(self, statement: Statement) -> tuple[int, int]:
        """Whole lines of a statement, its decorators and its line end included."""
        place = self.range(statement)
        first, last = place.start.line, place.end.line
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)) and statement.decorators:
            first = self.range(statement.decorators[0]).start.line
        end = self._starts[last] if last < len(self._starts) else len(self.text)
        return self._starts[first - 1], end

    def alone(self, statement: Statement) -> bool:
        """Does it have its lines to itself: no `;`, no body on the line of its head?"""
        if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) != 1:
            return False
        return isinstance(self.parent(statement), (cst.IndentedBlock, cst.Module))

    def insert_before(self, statement: Statement, *lines: str) -> Edit:
        start, _ = self.lines(statement)
        return Edit(start, start, self._block(lines, self.indent(statement)))

    def insert_after(self, statement: Statement, *lines: str) -> Edit:
        _, end = self.lines(statement)
        text = self._block(lines, self.indent(statement))
        if end == len(self.text) and not self.text.endswith(("\n", "\r")):
            text = self.newline + text[: -len(self.newline)]
        return Edit(end, end, text)

    def delete(self, statement: Statement) -> Edit:
        """Take a statement out; a block that would be left empty gets a `pass`."""
        start, end = self.lines(statement)
        block = self.block_of(statement)
        if block is not None and len(block) == 1 and not isinstance(self.parent(statement), cst.Module):
            return Edit(start, end, self._block(("pass",), self.indent(statement)))
        return Edit(start, end, "")

    def moved_after(self, statement: Statement, place: Statement) -> tuple[Edit, Edit]:
        return self.delete(statement), self.insert_after(place, *self.dedented(statement))

    def under(self, head: str, *several: Statement) -> Edit:
        """Statements that follow each other, as the body of a block of their own."""
        start, end = self.lines(several[0])[0], self.lines(several[-1])[1]
        lines = (line for each in several for line in self.dedented(each))
        inner = (f"{self.unit(several[0])}{line}" if line else "" for line in lines)
        return Edit(start, end, self._block((head, *inner), self.indent(several[0])))

    def replace(self, node: cst.CSTNode, text: str) -> Edit:
        start, end = self.span(node)
        return Edit(start, end, text)

    def _block(self, lines: tuple[str, ...], indent: str) -> str:
        return "".join(f"{indent}{line}{self.newline}" if line else self.newline for line in lines)

    def dedented(self, statement: Statement) -> tuple[str, ...]:
        """The lines of a statement, its own indentation taken off."""
        start, end = self.lines(statement)
        indent = self.indent(statement)
        lines = re.split(r"\r\n|\n|\r", self.text[start:end].rstrip())
        return tuple(line[len(indent) :] if line.startswith(indent) else line for line in lines)


def _is_docstring(statement: Statement) -> bool:
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    first = statement.body[0]
    return isinstance(first, cst.Expr) and isinstance(first.value, (cst.SimpleString, cst.ConcatenatedString))


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The parts of a node that are code. LibCST's own way goes through blanks and comments too, and is slow."""
    for name in _parts(type(node)):
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (each for each in value if isinstance(each, cst.CSTNode))


@cache
def _parts(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    layout = ("lpar", "rpar", "lbracket", "rbracket", "lbrace", "rbrace", "leading_lines", "lines_after_decorators")
    names = [field.name for field in fields(kind) if not field.name.startswith("whitespace")]
    return tuple(name for name in names if name not in (*layout, "comma", "semicolon", "header", "footer", "indent"))


def _descendants(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    todo = list(children(node))[::-1]
    while todo:
        each = todo.pop()
        yield each
        todo.extend(list(children(each))[::-1])


descendants = _descendants
