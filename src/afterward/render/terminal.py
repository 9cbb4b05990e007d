"""Puts lines on a stream: in colour on a terminal that wants it, plain everywhere else."""

from __future__ import annotations

import os
import shutil
from typing import IO

from afterward.model.diagnosis import Diagnosis
from afterward.render.text import WIDTH, as_text, lines_of

_STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "info": "bold cyan",
    "headline": "bold",
    "frame": "blue",
    "primary": "bold red",
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
    if not wants_colour(stream):
        print(as_text(found), file=stream)
        return
    from rich.console import Console
    from rich.text import Text

    width = max(min(shutil.get_terminal_size((WIDTH, 24)).columns, 120), 40)
    console = Console(file=stream, force_terminal=True, highlight=False, width=width, soft_wrap=True)
    for line in lines_of(found, width):
        text = Text()
        for span in line:
            text.append(span.text, _STYLES.get(span.style, ""))
        text.rstrip()
        console.print(text)
    console.print()
