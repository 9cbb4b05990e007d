"""The reader's source as a page shows it: lines, what a statement gives a name to, and characters that deceive."""

from __future__ import annotations

import ast
import io
import json
import linecache
import tokenize
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from afterward.model.site import Site

_BIDI = {0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}


class SourceTexts:
    """The files of a report: as they were when the program ran, else as they are now."""

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = dict(texts or {})

    def text(self, file: str) -> str:
        if file not in self._texts:
            self._texts[file] = _read(file)
        return self._texts[file]

    def forget(self) -> None:
        self._texts.clear()

    def line(self, file: str, number: int) -> str:
        lines = _lines(self.text(file))
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def lines(self, file: str) -> tuple[str, ...]:
        return _lines(self.text(file))

    def excerpt(self, site: Site) -> str:
        """The statement on one line."""
        last = min(site.end_line, site.line + 2)
        parts = (_uncommented(self.line(site.file, number)).strip() for number in range(site.line, last + 1))
        return " ".join(part for part in parts if part)

    def named(self, site: Site) -> str:
        """What the statement gives its value to; empty where it names nothing."""
        statement = _statements(self.text(site.file)).get(site.line)
        if isinstance(statement, ast.Assign):
            return ", ".join(_shown(target) for target in statement.targets)
        if isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
            return _shown(statement.target)
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            return _shown(statement.target)
        return ""


def _read(file: str) -> str:
    try:
        text = Path(file).read_text(encoding="utf-8", errors="replace")
        return _cells(text) if file.endswith(".ipynb") else text
    except (OSError, ValueError):  # a cell of a notebook is no file, but Python's own tracebacks can show it
        return "".join(linecache.getlines(file))


def _cells(text: str) -> str:
    """A notebook's code cells: their lines are what a finding counts."""
    try:
        cells = [cell for cell in json.loads(text)["cells"] if cell.get("cell_type") == "code"]
        return "\n".join("".join(cell.get("source", "")) for cell in cells)
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""


def _uncommented(line: str) -> str:
    if "#" not in line:
        return line
    try:
        for token in tokenize.generate_tokens(io.StringIO(line.strip()).readline):
            if token.type == tokenize.COMMENT:
                return line.strip()[: token.start[1]]
    except (tokenize.TokenError, SyntaxError, ValueError):  # a part of a statement
        pass
    return line


@lru_cache(maxsize=32)
def _lines(text: str) -> tuple[str, ...]:
    # Python ends a line at these three only; str.splitlines() knows more, and would count lines wrongly.
    return tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


@lru_cache(maxsize=32)
def _statements(text: str) -> dict[int, ast.stmt]:
    """The statements by the line on which they begin; where several share one, the last."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {node.lineno: node for node in ast.walk(tree) if isinstance(node, ast.stmt)}


def _shown(target: ast.expr) -> str:
    text = ast.unparse(target)
    return text[1:-1] if isinstance(target, ast.Tuple) and text.startswith("(") else text


def visible(text: str) -> str:
    """Text in which nothing hides: control characters and marks that reverse the reading direction are spelled out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_spelled(character) for character in text)


def _spelled(character: str) -> str:
    code = ord(character)
    if character == "\t":
        return " "
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code in _BIDI or 0x80 <= code < 0xA0 or code in (0x2028, 0x2029, 0xFEFF) or 0xD800 <= code < 0xE000:
        return f"\u27eaU+{code:04X}\u27eb"
    if code in (0xFFFE, 0xFFFF):
        return "\ufffd"
    return character


def shortened(text: str, room: int) -> str:
    return text if len(text) <= room else text[: max(room - 1, 1)].rstrip() + "…"


def without_ticks(words: str) -> str:
    """Words where code cannot be set as code."""
    return words.replace("`", "")
