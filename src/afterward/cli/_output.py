"""Files that a command writes: claimed before the work begins, so that hours of it are not lost to a bad path."""

from __future__ import annotations

import sys
from pathlib import Path

from afterward.errors import ReportNotWritten
from afterward.render.paths import relative


def claimed(out: str | None) -> Path | None:
    """Find out before the run, not after hours of it, that the report cannot be written."""
    if out is None:
        return None
    path = Path(out).absolute()
    try:
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise ReportNotWritten(f"cannot write the report to {out}: {error.strerror}") from None
    return path


def finish_interrupted() -> None:
    """A change of several files that was cut short by a death is made whole before anything else is done."""
    from afterward.tasks.journal import recovered

    for made, files in recovered():
        names = ", ".join(relative(file) for file in files)
        done = "finished an interrupted change of" if made else "took back an interrupted change of"
        print(f"afterward: {done} {names}", file=sys.stderr)


def write_report(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportNotWritten(f"cannot write the report to {path}: {error.strerror}") from None
