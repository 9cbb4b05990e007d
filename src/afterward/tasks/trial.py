"""One run of a program in a process of its own, to see what becomes of it: as it is, or with a patch."""

from __future__ import annotations

import os
import pickle
import sys
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from afterward.errors import AfterwardError
from afterward.model.diagnosis import Report
from afterward.model.saved import Chapter
from afterward.model.training import Training
from afterward.tasks.run import Watched, run
from afterward.tasks.structure import structure_of


@dataclass(frozen=True)
class Request:
    """What to run. `patched` holds the new text of changed files, by the path Python loads them from."""

    target: str
    arguments: tuple[str, ...] = ()
    as_module: bool = False
    folder: str = ""  # to run in; nothing: where the runner was started
    patched: Mapping[str, bytes] = field(default_factory=dict)
    passes: int | None = None  # stop once this many have begun
    seconds: float | None = None  # stop at the first pass after so many
    undo: str | None = None  # the folder that remembers what it overwrites; None: what it writes stays
    stdin: str | None = None
    shown: bool = False  # does the program's own output go to the terminal?
    result: str = ""


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
    unrestored: list[str] = field(default_factory=list)  # paths that could not be put back
    chapters: list[Chapter] = field(default_factory=list)  # the histories of a run that is shown
    training: Training = field(default_factory=Training)
    refused: str = ""  # what it is that could not be detached, as plain data


def perform(request: Request) -> None:
    """Runs in the new process: carry the request out, and leave the result on disk."""
    from afterward.observe.proving.meter import Meter

    _connect(request)
    meter = Meter(request.passes, time.monotonic() + request.seconds if request.seconds is not None else None)
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
        if request.undo is not None:
            _remember(Path(request.undo))

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
        )
        _leave(request, result)

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
        _leave(request, Trial("refused", Report((request.target, *request.arguments)), str(error)))
        return
    if request.shown and outcome.error is not None and not isinstance(outcome.error, SystemExit):
        sys.stdout.flush()
        traceback.print_exception(type(outcome.error), outcome.error, outcome.error.__traceback__)
    leave("finished" if outcome.exit == 0 else "raised", outcome.report, outcome.error)


def _connect(request: Request) -> None:
    """A trial reads what it is given and prints to nobody."""
    if request.folder:
        os.chdir(request.folder)
    nowhere = os.open(os.devnull, os.O_RDWR)
    if request.stdin is not None:
        os.dup2(os.open(request.stdin, os.O_RDONLY), 0)
    elif not request.shown:
        os.dup2(nowhere, 0)
    if not request.shown:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)


def _remember(folder: Path) -> None:
    from afterward.observe import compat
    from afterward.tasks.undo import Recorder

    recorder = Recorder(folder)
    recorder.install()
    compat.announce_files(recorder.before_write)


def _leave(request: Request, result: Trial) -> None:
    path = Path(request.result)
    scratch = path.with_suffix(".part")
    scratch.write_bytes(pickle.dumps(replace(result)))
    scratch.replace(path)


def _refused(error: BaseException | None) -> str:
    """What the value is that has no `detach`: a container, an object, None, a number."""
    if not isinstance(error, AttributeError) or error.name != "detach":
        return ""
    return repr(structure_of(error.obj))


def _one_line(error: BaseException | None) -> str:
    if error is None or (isinstance(error, SystemExit) and not error.code):
        return ""
    if isinstance(error, SystemExit):
        return f"left with status {error.code}"
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
