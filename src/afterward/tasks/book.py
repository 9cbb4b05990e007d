"""A notebook as a file that `fix` can change: its cells as one program, and the changed program as cells again."""

from __future__ import annotations

import difflib
import json
from typing import Any

from afterward.errors import SourceUnreadable
from afterward.interpret.project.notebook import Cells, as_program
from afterward.tasks.files import Original, read


class Book(Original):
    """The bytes are the notebook's, the text is the program that its code cells make."""

    def encoded(self, text: str) -> bytes:
        """The notebook with the changed cells; a cell that did not change keeps every line, magics too."""
        book = json.loads(self.data)
        cells = [cell for cell in book["cells"] if cell.get("cell_type") == "code"]
        _, places = as_program(self.data, "")
        for number, lines in changed_cells(self.text, text, places, [_lines(cell) for cell in cells]).items():
            cells[number]["source"] = lines
        last = "\n" if self.data.endswith(b"\n") else ""
        return (json.dumps(book, indent=1, ensure_ascii=False) + last).encode()

    def program(self, text: str) -> bytes:
        return text.encode()


def read_book(path: str) -> Book:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise SourceUnreadable(f"{path}: cannot be read: {error.strerror}") from None
    program, _ = as_program(data, path)
    return Book(data, program.decode(), "utf-8")


def read_any(path: str) -> Original:
    """A source file or a notebook."""
    return read_book(path) if path.endswith(".ipynb") else read(path)


def changed_cells(before: str, after: str, places: Cells, cells: list[list[str]]) -> dict[int, list[str]]:
    """The new lines of each cell that changed. What is inserted belongs to the cell of the line before it."""
    old, new = before.split("\n"), after.split("\n")
    result: dict[int, list[str]] = {}
    changed: set[int] = set()
    for kind, first, last, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            for line in range(first + 1, last + 1):
                cell, place = places.place(line)
                kept = cells[cell - 1][place - 1] if place <= len(cells[cell - 1]) else old[line - 1]
                result.setdefault(cell - 1, []).append(kept)
            continue
        cell, _ = places.place(max(first if kind == "insert" else first + 1, 1))
        result.setdefault(cell - 1, []).extend(new[start:end])
        changed |= {cell - 1, *(places.place(line)[0] - 1 for line in range(first + 1, last + 1))}
    return {number: _joined(result.get(number, [])) for number in changed}


def _lines(cell: dict[str, Any]) -> list[str]:
    source = cell.get("source", "")
    return ("".join(source) if isinstance(source, list) else str(source)).split("\n")


def _joined(lines: list[str]) -> list[str]:
    return [line + "\n" for line in lines[:-1]] + lines[-1:]
