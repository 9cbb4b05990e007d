"""A notebook as one program: its code cells in order, and the way back from a line to its place in the file."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, replace

from afterward.errors import SourceUnreadable
from afterward.model.diagnosis import Diagnosis, Label


@dataclass(frozen=True, slots=True)
class Cells:
    """Which cell each line of the program comes from: (first line, number of the cell)."""

    starts: tuple[tuple[int, int], ...]

    def place(self, line: int) -> tuple[int, int]:
        """(cell, line in the cell) of a line."""
        first, cell = max((start for start in self.starts if start[0] <= line), default=(1, 1))
        return cell, line - first + 1

    def moved(self, found: Diagnosis) -> Diagnosis:
        """A finding that also says in which cell it is."""
        cell, line = self.place(found.primary.site.line)
        text = f"cell {cell}, line {line}: {found.primary.text}"
        return replace(found, primary=Label(found.primary.site, text))


def as_program(data: bytes, file: str) -> tuple[bytes, Cells]:
    """The code cells of a notebook as Python source. Lines that only IPython understands are left out."""
    try:
        book = json.loads(data)
        cells = [cell for cell in book["cells"] if cell.get("cell_type") == "code"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SourceUnreadable(f"{file}: not a notebook") from None
    lines: list[str] = []
    starts: list[tuple[int, int]] = []
    for number, cell in enumerate(cells, 1):
        source = cell.get("source", "")
        text = "".join(source) if isinstance(source, list) else str(source)
        starts.append((len(lines) + 1, number))
        lines += _plain(text)
    return "\n".join(lines).encode(), Cells(tuple(starts))


def _plain(text: str) -> list[str]:
    """A cell without what only IPython understands; a cell that is not Python at all is left out."""
    lines = text.split("\n")
    if text.lstrip().startswith("%%"):
        return ["" for _ in lines]
    found = []
    for line in lines:
        stripped = line.lstrip()
        if stripped.startswith(("%", "!", "?")) or stripped.endswith("?"):
            line = line[: len(line) - len(stripped)] + "pass"
        found.append(line)
    try:
        ast.parse("\n".join(found))
    except (SyntaxError, ValueError, RecursionError):
        return ["" for _ in lines]
    return found
