"""Files that a command writes: claimed before the work begins, so that hours of it are not lost to a bad path."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import IO, TYPE_CHECKING

from afterward.errors import ReportNotWritten

if TYPE_CHECKING:
    from pathlib import Path

    from afterward.model.diagnosis import Diagnosis


LEAST = 32  # letters of a column beside others: where there is less room it stands below them


def claimed(out: str | None) -> Path | None:
    """Find out before the run, not after hours of it, that the report cannot be written."""
    if out is None:
        return None
    from pathlib import Path

    path = Path(out).absolute()
    try:
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise ReportNotWritten(f"cannot write the report to {out}: {error.strerror}") from None
    return path


def finish_interrupted() -> None:
    """A change of several files that was cut short by a death is made whole before anything else is done."""
    from afterward.render.paths import relative
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


def wrote(path: Path) -> None:
    from afterward.render.paths import relative

    print(f"afterward: wrote {relative(str(path))}", file=sys.stderr, flush=True)


def next_line(findings: Iterable[Diagnosis], stream: IO[str], program: str = "") -> None:
    """After the findings: where to read more, and how to test a change of this program."""
    shown = [found for found in findings if not found.caught]
    codes = list(dict.fromkeys(found.code for found in shown))
    if not codes:
        return
    print(f"For more: afterward explain {codes[0]}", file=stream)
    remedies = [remedy for found in shown for remedy in found.remedies]
    if program and any(remedy.effect.value != "sketch" for remedy in remedies):
        print(f"To test the change: afterward fix {program}", file=stream)
    stream.flush()


def say(words: str) -> None:
    """One line on the error stream; on a terminal no word of it is broken at the edge."""
    if sys.stderr.isatty():
        words = textwrap.fill(words, _columns(), break_long_words=False, break_on_hyphens=False)
    print(words, file=sys.stderr, flush=True)


def _columns() -> int:
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


def print_row(columns: Sequence[str], text: str) -> None:
    """A row whose last column is wrapped, so that no word is broken at the edge of the terminal."""
    before = "  ".join((*columns, ""))
    width = _columns()
    if width < len(before) + LEAST:
        print(before.rstrip())
        before = "    "
    print(textwrap.fill(text, width, initial_indent=before, subsequent_indent=" " * len(before),
                        break_long_words=False, break_on_hyphens=False))  # fmt: skip
