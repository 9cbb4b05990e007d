"""A notebook as one program: its code cells in order, and the way back from a line to its place in the file."""

from __future__ import annotations

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
        whole = text.lstrip().startswith("%%")
        for line in text.split("\n"):
            stripped = line.lstrip()
            if whole or stripped.startswith(("%", "!", "?")) or stripped.endswith("?"):
                indent = line[: len(line) - len(stripped)]
                line = f"{indent}pass"
            lines.append(line)
    return "\n".join(lines).encode(), Cells(tuple(starts))
