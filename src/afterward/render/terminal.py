"""Puts lines on a stream: in colour on a terminal that wants it, plain everywhere else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from typing import IO

from afterward.model.diagnosis import Diagnosis
from afterward.render.remedies import helps
from afterward.render.spans import Line
from afterward.render.text import WIDTH, diagnosis_lines, lines_of, plain

_STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "info": "bold cyan",
    "headline": "bold",
    "frame": "blue",
    "secondary": "cyan",
    "note": "bold",
    "help": "bold green",
    "added": "green",
    "removed": "red",
}


def wants_colour(stream: IO[str]) -> bool:
    """A terminal, unless NO_COLOR is set or it is a dumb one; FORCE_COLOR overrides."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def show(found: Diagnosis, stream: IO[str]) -> None:
    """Print one finding."""
    _print(lines_of(found, _width(stream)), stream)


def show_diagnosis(found: Diagnosis, stream: IO[str]) -> None:
    """What is wrong and why, without what to do."""
    lines = list(diagnosis_lines(found, _width(stream)))
    _print(lines if lines[-1] else lines[:-1], stream)  # the empty line is there to part it from what to do


def show_changes(found: Diagnosis, stream: IO[str]) -> None:
    """What to do, and what became of it when it was tried."""
    _print(helps(found, _width(stream)), stream)


def _width(stream: IO[str]) -> int:
    return max(min(shutil.get_terminal_size((WIDTH, 24)).columns, 120), 40) if wants_colour(stream) else WIDTH


def _print(lines: Iterable[Line], stream: IO[str]) -> None:
    if not wants_colour(stream):
        print(plain(lines), file=stream)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, force_terminal=True, highlight=False, width=_width(stream), soft_wrap=True)
    for line in lines:
        text = Text()
        for span in line:
            text.append(span.text, _STYLES.get(span.style, ""))
        text.rstrip()
        console.print(text, soft_wrap=all(span.style != "headline" for span in line))
    console.print()
