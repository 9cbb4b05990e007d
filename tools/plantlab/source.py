"""A program's text with its tree, and the edits that plant a fault: spans replaced, lines taken out or put in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

Block = list[ast.stmt]


@dataclass(frozen=True)
class Edit:
    """Replace the characters from `start` to `end` by `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Planted:
    """A program with a fault in it; `lines` are those where it was planted, in the new text."""

    text: str
    lines: tuple[int, ...]


@dataclass
class Source:
    """One file of a program."""

    text: str
    tree: ast.Module = field(init=False)

    def __post_init__(self) -> None:
        self.tree = ast.parse(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line begins, in characters."""
        starts = [0]
        for line in self.text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def at(self, line: int, column: int) -> int:
        """A place of `ast` (columns in bytes) as a number of characters."""
        start = self._starts[line - 1]
        text = self.text[start : self._starts[line]] if line < len(self._starts) else ""
        return start + len(text.encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def code(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    @cached_property
    def blocks(self) -> list[tuple[ast.AST, Block]]:
        """Every list of statements, with what holds it."""
        found: list[tuple[ast.AST, Block]] = []
        for node in ast.walk(self.tree):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(node, name, None)
                if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                    found.append((node, block))
        return found

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """What holds it, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def loops(self, node: ast.AST) -> list[ast.For | ast.While]:
        """The loops around it in its own function, innermost first."""
        found: list[ast.For | ast.While] = []
        for holder in self.above(node):
            if isinstance(holder, (ast.FunctionDef, ast.Lambda, ast.ClassDef)):
                break
            if isinstance(holder, (ast.For, ast.While)):
                found.append(holder)
        return found

    def walk(self) -> Iterator[ast.AST]:
        """Every node, in the order of the text."""
        nodes = [n for n in ast.walk(self.tree) if hasattr(n, "lineno")]
        yield from sorted(nodes, key=lambda n: (n.lineno, n.col_offset))  # type: ignore[attr-defined]

    # Edits

    def without(self, statement: ast.stmt) -> Edit | None:
        """Take a statement out, with its lines; `pass` stays where it was alone. None: it shares its line."""
        start, end = self.span(statement)
        first, last = self._starts[statement.lineno - 1], self._starts[statement.end_lineno or 1]
        if self.text[first:start].strip() or self.text[end:last].split("#")[0].strip():
            return None
        holder = self.parents[statement]
        alone = any(getattr(holder, name, None) == [statement] for name in ("body", "orelse", "finalbody"))
        return Edit(start, end, "pass") if alone else Edit(first, last, "")

    def before(self, statement: ast.stmt, *lines: str) -> Edit:
        first = self._starts[_first_line(statement) - 1]
        return Edit(first, first, "".join(f"{self.indent(statement)}{line}\n" for line in lines))

    def after(self, statement: ast.stmt, *lines: str) -> Edit:
        last = self._starts[statement.end_lineno or 1]
        head = "" if self.text[:last].endswith("\n") else "\n"
        return Edit(last, last, head + "".join(f"{self.indent(statement)}{line}\n" for line in lines))

    def indent(self, statement: ast.stmt) -> str:
        start = self._starts[_first_line(statement) - 1]
        return (
            self.text[start : self.at(statement.lineno, statement.col_offset)].split("@")[0]
            if (_first_line(statement) == statement.lineno)
            else " " * statement.col_offset
        )

    def owns_its_lines(self, statement: ast.stmt) -> bool:
        """Does no other statement stand on its lines?"""
        return self.without(statement) is not None

    def planted(self, *edits: Edit | None) -> Planted | None:
        """The text with all edits made; None where one of them could not be."""
        if any(edit is None for edit in edits):
            return None
        made = sorted((e for e in edits if e is not None), key=lambda e: (e.start, e.end))
        text, end, lines = "", 0, []
        for edit in made:
            if edit.start < end:
                return None
            text += self.text[end : edit.start]
            first = text.count("\n") + 1
            text += edit.text
            lines += range(first, first + max(1, edit.text.rstrip("\n").count("\n") + 1))
            end = edit.end
        text += self.text[end:]
        try:
            compile(text, "planted.py", "exec", dont_inherit=True)
        except SyntaxError:
            return None
        return Planted(text, tuple(dict.fromkeys(lines))) if text != self.text else None


def _first_line(statement: ast.stmt) -> int:
    """Decorators stand before."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])
