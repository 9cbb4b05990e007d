"""One run of a program in a process of its own, to see what becomes of it: as it is, or with a patch.

Where and how that process runs is the matter of `trial_runner` and `trial_server`.
"""

from __future__ import annotations

import errno
import os
import pickle
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from afterward.errors import AfterwardError
from afterward.model import facts
from afterward.model.diagnosis import Report
from afterward.model.facts import Note
from afterward.model.saved import Chapter
from afterward.model.training import Border, Training
from afterward.tasks.run import Watched, run


@dataclass(frozen=True)
class Request:
    """What to run. `patched` holds the new text of changed files, by the path Python loads them from."""

    target: str
    arguments: tuple[str, ...] = ()
    as_module: bool = False
    folder: str = ""  # to run in; nothing: where the runner is
    patched: Mapping[str, bytes] = field(default_factory=dict)
    passes: int | None = None  # stop once this many have begun
    seconds: float | None = None  # stop at the first pass after so many
    border: Border | None = None  # where to look for what one step hands to the next
    stdin: bytes | None = None  # what was piped in: each run gets all of it
    finite: bool = False  # look for the first operation whose gradient is not finite
    shown: bool = False  # the user's own run: its output goes to the terminal, and what it writes stays


@dataclass
class Trial:
    """What became of it. `ending` is "finished", "raised", "passes" (enough of them), "time", "died", or
    "refused" (there is no such program)."""

    ending: str
    report: Report
    error: str = ""
    passes: int = 0
    sizes: list[int] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    broken_at: int | None = None  # the pass that failed first
    hindered: Note | None = None  # what kept it from being a trial, whatever the patch
    not_isolated: Note | None = None  # what this system could not keep from it
    chapters: list[Chapter] = field(default_factory=list)  # the histories of a run that is shown
    training: Training = field(default_factory=Training)
    refused: str = ""  # what it is that could not be detached, as plain data

    @classmethod
    def hindered_by(cls, request: Request, reason: Note) -> Trial:
        return cls("raised", Report((request.target, *request.arguments)), hindered=reason)


class WriteOutside(OSError):
    """A tried program was about to write where it would not be taken back."""


def perform(request: Request, give: Callable[[Trial], None]) -> None:
    """Runs in the new process: carry the request out, and give what came of it."""
    from afterward.observe.proving.finite import FiniteLook
    from afterward.observe.proving.meter import Meter

    _connect(request)
    until = time.monotonic() + request.seconds if request.seconds is not None else None
    finite = FiniteLook() if request.finite else None
    meter = Meter(request.passes, until, border=request.border, finite=finite)
    seen: list[Watched] = []
    broken: list[int] = []

    def prepare(watched: Watched) -> None:
        seen.append(watched)
        watched.session.meter = meter
        watched.session.recorders.statements.patched.update(request.patched)
        tell = watched.broken

        def first_broken(error: BaseException, history: object) -> None:
            broken.append(meter.passes)
            tell(error, history)  # type: ignore[arg-type]

        watched.session.on_broken = first_broken

    def leave(ending: str, report: Report, error: BaseException | None) -> None:
        statements = seen[0].session.recorders.statements
        result = Trial(
            ending,
            report,
            _one_line(error),
            meter.passes,
            meter.sizes,
            dict(statements.sources),
            broken[0] if broken else None,
            chapters=seen[0].chapters if request.shown else [],
            training=meter.training,
            refused=_refused(error),
            hindered=_obstacle(request, error),
        )
        give(result)

    def enough(reason: str) -> None:
        watched = seen[0]
        if not watched.findings:
            watched.look_back()
        leave(reason, watched.report([request.target, *request.arguments], None, None), None)
        os._exit(0)

    meter.enough = enough
    try:
        outcome = run(request.target, request.arguments, as_module=request.as_module, prepare=prepare)
    except AfterwardError as error:
        give(Trial("refused", Report((request.target, *request.arguments)), str(error)))
        return
    if request.shown and outcome.error is not None and not isinstance(outcome.error, SystemExit):
        sys.stdout.flush()
        traceback.print_exception(type(outcome.error), outcome.error, outcome.error.__traceback__)
    leave("finished" if outcome.exit == 0 else "raised", outcome.report, outcome.error)


def _connect(request: Request) -> None:
    """A trial reads what it is given and prints to nothing."""
    if request.folder:
        os.chdir(request.folder)
    nowhere = os.open(os.devnull, os.O_RDWR)
    if request.stdin is not None:
        with tempfile.TemporaryFile() as piped:
            piped.write(request.stdin)
            piped.seek(0)
            os.dup2(piped.fileno(), 0)
    elif not request.shown:
        os.dup2(nowhere, 0)
    if not request.shown:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)


def leave_result(file: BinaryIO, result: Trial) -> None:
    """Write it where the process that asked will read it. What is cut off by a sudden end is no result."""
    file.seek(0)
    file.truncate()
    file.write(pickle.dumps(result))
    file.flush()


def _obstacle(request: Request, error: BaseException | None) -> Note | None:
    """What would meet every trial of this program."""
    if request.shown:
        return None
    if isinstance(error, WriteOutside):
        return Note("writes_outside", (facts.verbatim("path", str(error.filename)),))
    if isinstance(error, EOFError) and request.stdin is None:
        return Note("reads_terminal")
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return Note("disk_full")
    return None


def _refused(error: BaseException | None) -> str:
    """What the value is that has no `detach`: a container, an object, None, a number."""
    if not isinstance(error, AttributeError) or error.name != "detach":
        return ""
    from afterward.observe.proving.structure import structure_of

    return repr(structure_of(error.obj))


def _one_line(error: BaseException | None) -> str:
    if error is None or (isinstance(error, SystemExit) and not error.code):
        return ""
    if isinstance(error, SystemExit):
        return f"left with status {error.code}"
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
