"""`afterward.watch()` and `afterward.install()`: watch from inside a program."""

from __future__ import annotations

import atexit

from afterward.model.diagnosis import Diagnosis
from afterward.render.text import as_text
from afterward.tasks.watch import Watch


def note_text(found: Diagnosis) -> str:
    """A finding as an exception's note: it begins on a line of its own."""
    return "\n" + as_text(found)


def watch() -> Watch:
    """Watch a block: `with afterward.watch() as run: ...`, then `run.report()`."""
    return Watch(note_text)


def install() -> Watch:
    """Watch the whole process from here on, to its end."""
    watching = watch()
    watching.__enter__()
    atexit.register(watching.__exit__, None, None, None)
    return watching
