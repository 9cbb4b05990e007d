"""One run of a program in a process of its own, to see what becomes of it: as it is, or with a patch.

Where and how that process runs is the matter of `trial_runner` and `trial_server`.
"""

from __future__ import annotations

import errno
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from afterward.model import facts
from afterward.model.diagnosis import Report
from afterward.model.facts import Note
from afterward.model.saved import Chapter
from afterward.model.training import Border, Training
from afterward.tasks.run import Watched


@dataclass(frozen=True)
class Request:
    """What to run. `patched` holds the new text of changed files, by the path Python loads them from."""

    target: str
    arguments: tuple[str, ...] = ()
    as_module: bool = False
    command: tuple[str, ...] = ()  # that starts the program's processes, where this one does not run it
    folder: str = ""  # to run in; nothing: where the runner is
    patched: Mapping[str, bytes] = field(default_factory=dict)
    passes: int | None = None  # stop once this many have begun
    seconds: float | None = None  # stop at the first pass after so many
    border: Border | None = None  # where to look for what one step hands to the next
    stdin: bytes | None = None  # what was piped in: each run gets all of it
    finite: bool = False  # look for the first operation whose gradient is not finite
    shown: bool = False  # the user's own run: its output goes to the terminal, and what it writes stays
    meeting: str = ""  # the folder where its ranks leave what they have shown; nothing: it makes one


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
    ranks: tuple[Trial, ...] = ()  # what each rank has shown, of a program that trains on several

    @classmethod
    def hindered_by(cls, request: Request, reason: Note) -> Trial:
        return cls("raised", Report((request.target, *request.arguments)), hindered=reason)


class WriteOutside(OSError):
    """A tried program was about to write where it would not be taken back."""


class Measured:
    """A process of a trial: what it is given instead of its files, and what is measured in it."""

    def __init__(self, request: Request, watched: Watched, until: float | None) -> None:
        from afterward.observe.proving.finite import FiniteLook
        from afterward.observe.proving.meter import Meter

        self.request, self.watched = request, watched
        finite = FiniteLook() if request.finite else None
        self.meter = Meter(request.passes, until, border=request.border, finite=finite)
        self._broken_at: int | None = None
        watched.session.meter = self.meter
        watched.session.recorders.statements.patched.update(request.patched)

    def broke(self) -> None:
        """A pass has failed."""
        self._broken_at = self.meter.passes if self._broken_at is None else self._broken_at

    def result(self, ending: str, report: Report, error: BaseException | None) -> Trial:
        return Trial(
            ending,
            report,
            _one_line(error),
            self.meter.passes,
            self.meter.sizes,
            dict(self.watched.session.recorders.statements.sources),
            self._broken_at,
            chapters=self.watched.chapters if self.request.shown else [],
            training=self.meter.training,
            refused=_refused(error),
            hindered=_obstacle(self.request, error),
        )


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
