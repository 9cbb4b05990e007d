"""A notebook as one program: its code cells in order, and the way back from a line to its place in the file."""

from __future__ import annotations

import ast
import json
import keyword
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from afterward.errors import SourceUnreadable
from afterward.model import facts
from afterward.model.diagnosis import Diagnosis

# Cell magics whose body is another language's, or runs in another process: no name of the program is set there.
_ELSEWHERE = frozenset(
    {"!", "HTML", "SVG", "bash", "cmd", "file", "html", "javascript", "js", "latex", "markdown", "perl", "pypy",
     "python", "python2", "python3", "ruby", "script", "sh", "svg", "sx", "system", "writefile"}
)  # fmt: skip
# Line magics that run the rest of their line: `%time train()`.
_RUNS = r"%%?(?:time|timeit|prun|memit|mprun|lprun|snakeviz|pyinstrument|debug)\b(?:[ \t]+-\w+(?:[ \t]+\d+)?)*[ \t]+"
_RUN = re.compile(rf"^([ \t]*)({_RUNS})(?=\S)")
_FOR_IPYTHON = re.compile(r"^([ \t]*)(?:[%!?].*|.*\?[ \t]*)$")
_ASSIGNED = re.compile(r"^([ \t]*[\w., \t]+=[ \t]*)[%!].*$")  # `files = !ls`
_WORD = re.compile(r"[^\W\d]\w*")
_SETS = re.compile(r"^([^=!<>#'\"]*)=(?!=)|\b(?:for|def|class|import|as|global)[ \t]+([\w, \t]+)", re.MULTILINE)
_PASSES = re.compile(r"\b(?:backward|manual_backward|grad)\b")
UNKNOWN = "get_ipython()"  # no program defines it, so nothing is known of what it gives


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
        place = facts.count("cell", cell), facts.count("cell_line", line)
        return replace(found, primary=replace(found.primary, facts=(*found.primary.facts, *place)))


def to_run(cell: str) -> list[str]:
    """The lines of a cell without what only IPython understands; a cell that is not Python at all is left out."""
    found = as_python(cell)
    return found if found is not None else ["" for _ in cell.split("\n")]


def to_read(cell: str) -> list[str]:
    """The same, for those who will not run it: of a cell that is not Python, only which names it has is known."""
    found = as_python(cell)
    return found if found is not None else [_unknown(cell), *("" for _ in cell.split("\n")[1:])]


def as_program(data: bytes, file: str, lines_of: Callable[[str], list[str]] = to_run) -> tuple[bytes, Cells]:
    """The code cells of a notebook as Python source."""
    lines: list[str] = []
    starts: list[tuple[int, int]] = []
    for number, text in enumerate(_texts(data, file), 1):
        starts.append((len(lines) + 1, number))
        lines += lines_of(text)
    return "\n".join(lines).encode("utf-8", "surrogatepass"), Cells(tuple(starts))


def _texts(data: bytes, file: str) -> list[str]:
    try:
        book: Any = json.loads(data)
        cells = [cell for cell in book["cells"] if cell.get("cell_type") == "code"]
        return ["".join(cell.get("source", "")) for cell in cells]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise SourceUnreadable(f"{file}: not a notebook") from None


def as_python(cell: str) -> list[str] | None:
    """The lines of a cell as Python, each in its place; None where it is none."""
    lines = cell.split("\n")
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    magic = lines[first].lstrip()
    if magic.startswith("%%"):
        name = magic[2:].split(None, 1)[0] if magic[2:].strip() else ""
        if name in _ELSEWHERE or name.startswith("!"):
            return ["" for _ in lines]
        lines[first] = ""  # `%%time`, `%%capture` and their kin run the rest of the cell
    if _parses(lines):
        return lines
    lines = [_plain(line) for line in lines]
    return lines if _parses(lines) else None


def _plain(line: str) -> str:
    """A line that only IPython understands, as one that does the same to the program's names."""
    run = _RUN.match(line)
    if run is not None:  # what it runs stays in its columns
        kept = run[1] + "pass;".ljust(len(run[2])) + line[run.end() :]
        if _parses([kept.lstrip()]):
            return kept
    assigned = _ASSIGNED.match(line)
    if assigned is not None:
        return assigned[1] + UNKNOWN
    other = _FOR_IPYTHON.match(line)
    return other[1] + "pass" if other is not None else line


def _parses(lines: list[str]) -> bool:
    try:
        ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _unknown(cell: str) -> str:
    """One line that leaves all names unknown that a cell could set, and hands over all that it mentions."""
    sets = {word for found in _SETS.findall(cell) for part in found for word in _WORD.findall(part)}
    words = [word for word in dict.fromkeys(_WORD.findall(cell)) if word.isidentifier() and not keyword.iskeyword(word)]
    targets = [word for word in words if word in sets]
    call = f"{UNKNOWN}({', '.join(words)})"
    line = f"{', '.join(targets)} = {call}" if targets else call
    return f"{line}; {UNKNOWN}.backward()" if _PASSES.search(cell) else line
