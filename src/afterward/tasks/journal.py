"""Several files changed as one: a journal says what was begun, so that it is finished or taken back after any death.

The journal is written before the first scratch file, and again when all of them are complete. Whoever finds one whose
writer is gone removes the scratch files (if they were not complete) or finishes the change. If a file was edited since,
the change is taken back instead: all files are the old ones, and the edit stays.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import platformdirs

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@dataclass
class Step:
    """One file of a change: `scratch` lies beside it and takes its place."""

    target: str
    scratch: str
    old: str  # base64
    new: str

    @property
    def before(self) -> bytes:
        return base64.b64decode(self.old)

    @property
    def after(self) -> bytes:
        return base64.b64decode(self.new)


@dataclass
class Journal:
    """A change on its way. `complete`: every scratch file has its whole content."""

    path: Path
    steps: list[Step] = field(default_factory=list)
    complete: bool = False

    def save(self) -> None:
        data = json.dumps({"complete": self.complete, "steps": [asdict(step) for step in self.steps]})
        part = self.path.with_suffix(".part")
        _write_through(part, data.encode())
        os.replace(part, self.path)

    def remove(self) -> None:
        for step in self.steps:
            _unlink(step.scratch)
        _unlink(self.path.with_suffix(".part"))
        _unlink(self.path)

    def finish(self) -> bool:
        """Put every new file in place; if one was edited since, all old ones. Says whether the change was made."""
        if all(_content(step.target) in (step.before, step.after) for step in self.steps):
            for step in self.steps:
                if _content(step.target) == step.before and step.before != step.after:
                    _prepare(step)
                    os.replace(step.scratch, step.target)
            return True
        self.take_back()
        return False

    def take_back(self) -> None:
        for step in self.steps:
            if _content(step.target) == step.after:
                _prepare(Step(step.target, step.scratch, step.old, step.old))
                os.replace(step.scratch, step.target)


def change(files: Mapping[str, tuple[bytes, bytes]]) -> None:
    """Replace old content by new, by path: in all files, or in none. Links are followed to the file itself."""
    token = uuid.uuid4().hex[:12]
    steps = []
    for number, (path, (old, new)) in enumerate(files.items()):
        target = os.path.realpath(path)
        scratch = os.path.join(os.path.dirname(target), f".afterward-{token}-{number}")
        steps.append(Step(target, scratch, base64.b64encode(old).decode(), base64.b64encode(new).decode()))
    with _undisturbed(), _locked(_folder() / f"{token}.json") as place:
        journal = Journal(place, steps)
        try:
            journal.save()
            for step in steps:
                _prepare(step)
            journal.complete = True
            journal.save()
            for step in steps:
                os.replace(step.scratch, step.target)
        except BaseException:
            journal.take_back()
            raise
        finally:
            journal.remove()


def recovered() -> Iterator[tuple[bool, list[str]]]:
    """Finish what a process that is gone has begun: was the change made, and which files are in it?"""
    for path in sorted({left.with_suffix(".json") for left in _folder().glob("*.*")}):
        with contextlib.suppress(OSError), _locked(path, wait=False):
            journal = _read(path)
            if journal.complete:
                yield journal.finish(), [step.target for step in journal.steps]
            journal.remove()


def _read(path: Path) -> Journal:
    """What stands in it; nothing, where its writer had not come that far."""
    try:
        told = json.loads(path.read_text())
        return Journal(path, [Step(**step) for step in told["steps"]], told["complete"])
    except (OSError, ValueError, KeyError, TypeError):
        return Journal(path)


def _folder() -> Path:
    """Where journals lie: a place of the user's that the next start finds, from wherever it is started."""
    for folder in (
        platformdirs.user_state_path("afterward", appauthor=False) / "writing",
        Path(tempfile.gettempdir(), f"afterward-writing-{os.getuid() if hasattr(os, 'getuid') else ''}"),
    ):
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if os.access(folder, os.W_OK):
                return folder
    raise PermissionError(13, "no folder for the journal of a change", str(folder))


@contextlib.contextmanager
def _locked(path: Path, wait: bool = True) -> Iterator[Path]:
    """Held as long as the writer lives; the kernel lets go of it when it dies."""
    lock = path.with_suffix(".lock")
    number = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield path
    except BlockingIOError:
        lock = Path()  # its writer lives
        raise
    finally:
        if lock != Path():
            _unlink(lock)
        os.close(number)


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals wait until all files are written: that takes no time that anybody would notice."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    waiting = {getattr(signal, name) for name in _SIGNALS}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare(step: Step) -> None:
    """The new content in a file of its own, next to the old one, with its rights and its owner."""
    _write_through(Path(step.scratch), step.after)
    state = os.stat(step.target)
    shutil.copystat(step.target, step.scratch)
    os.utime(step.scratch)
    with contextlib.suppress(OSError, AttributeError):
        os.chown(step.scratch, state.st_uid, state.st_gid)
        os.chmod(step.scratch, state.st_mode & 0o7777)  # a new owner takes some rights away


def _write_through(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _content(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def _unlink(path: str | Path) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
