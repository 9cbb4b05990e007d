"""Where a system gives no private view of its files: the program's folder is copied, and trials run in the copy.

Large files are linked, not copied. Python code that is about to write outside of the copy is stopped (a read-only file
system would do the same); what other code does is not seen, and the trial's `not_isolated` says so.
"""

from __future__ import annotations

import dataclasses
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from afterward.model import facts
from afterward.model.facts import Note
from afterward.tasks.python_files import NOT_OF_THE_PROGRAM
from afterward.tasks.trial import Trial, WriteOutside

LARGE = 32 << 20  # bytes: from here on a file is linked
MOST_FILES = 20_000
MOST_BYTES = 2 << 30
PREFIX = "afterward-trial-"

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
Value = TypeVar("Value")


class NotCopied(Exception):
    """The folder is too large to be copied for trials."""

    def __init__(self, folder: Path) -> None:
        files, size = facts.count("files", MOST_FILES, "file"), facts.size("bytes", MOST_BYTES)
        self.note = Note("folder_too_large", (facts.verbatim("folder", str(folder)), files, size))


class CopiedTree:
    """The copy of one folder, made again for each trial."""

    def __init__(self, folder: Path, reason: str) -> None:
        self._folder = folder.resolve()
        self._reason = reason
        remove_left_behind()
        self._scratch = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")).resolve()
        self._copy = self._scratch / "tree" / self._folder.name

    def renew(self) -> None:
        """As the folder is now, whatever the trial before has made of its copy."""
        shutil.rmtree(self._scratch / "tree", ignore_errors=True)
        shutil.rmtree(self._scratch / "tmp", ignore_errors=True)
        (self._scratch / "tmp").mkdir()
        self._copy.parent.mkdir()
        _check(self._folder)
        shutil.copytree(self._folder, self._copy, symlinks=True, ignore=_left_out, copy_function=_copied_or_linked)

    def remove(self) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)

    def inside(self, path: str) -> str:
        """Where this path of the folder is in the copy."""
        return _moved(os.path.realpath(path), str(self._folder), str(self._copy))

    def moved(self, patched: Mapping[str, bytes]) -> dict[str, bytes]:
        return {self.inside(path): data for path, data in patched.items()}

    def as_outside(self, trial: Trial) -> Trial:
        """What came of it, with the paths of the folder itself."""
        told = relocated(trial, str(self._copy), str(self._folder))
        told.not_isolated = Note(
            "not_isolated", (facts.verbatim("folder", str(self._folder)), facts.verbatim("reason", self._reason))
        )
        return told

    def call_inside(self, work: Callable[[], None]) -> None:
        """Runs in the trial's process."""
        temporary = str(self._scratch / "tmp")
        os.environ["TMPDIR"] = tempfile.tempdir = temporary
        sys.addaudithook(_Guard(str(self._scratch)))
        work()


def remove_left_behind() -> None:
    """Copies whose process is gone: it was killed before it could remove them."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        number = path.name.removeprefix(PREFIX).split("-")[0]
        if number.isdigit() and not _is_alive(int(number)):
            shutil.rmtree(path, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _check(folder: Path) -> None:
    files = size = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in NOT_OF_THE_PROGRAM]
        files += len(names)
        for name in names:
            try:
                length = os.lstat(os.path.join(place, name)).st_size
            except OSError:
                continue
            size += length if length < LARGE else 0
        if files > MOST_FILES or size > MOST_BYTES:
            raise NotCopied(folder)


def _left_out(_: str, names: list[str]) -> set[str]:
    return set(NOT_OF_THE_PROGRAM.intersection(names))


def _copied_or_linked(source: str, target: str) -> str:
    if os.path.islink(source) or os.path.getsize(source) < LARGE:
        return str(shutil.copy2(source, target, follow_symlinks=False))
    os.symlink(source, target)
    return target


class _Guard:
    """An audit hook that lets nothing be written outside of one folder."""

    def __init__(self, folder: str) -> None:
        self._inside = folder + os.sep

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        for path in written(event, args):
            self._allow(path)

    def _allow(self, path: Any) -> None:
        if isinstance(path, int) or path is None:
            return  # a descriptor: it was opened before
        name = os.fsdecode(path)
        name = os.path.join(os.path.realpath(os.path.dirname(os.path.abspath(name))), os.path.basename(name))
        real = os.path.realpath(name)
        if not real.startswith((self._inside, "/dev/", "/proc/")):
            raise WriteOutside(errno.EROFS, "a trial must not write outside of the program's folder", name)


def written(event: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The paths that an audited event is about to change."""
    if event == "open":
        path, mode, flags = args
        writes = bool(flags & _WRITING) if isinstance(flags, int) else bool(set(str(mode)) & set("wax+"))
        return (path,) if writes else ()
    if event == "sqlite3.connect":
        return () if str(args[0]).startswith(":memory:") else (args[0],)
    return tuple(args[n] for n in _PATHS.get(event, ()) if n < len(args))


# Which arguments of an event are paths that change.
_PATHS = {
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.mkdir": (0,),
    "os.truncate": (0,),
    "os.chmod": (0,),
    "os.chown": (0,),
    "os.utime": (0,),
    "os.setxattr": (0,),
    "os.rename": (0, 1),
    "os.link": (1,),
    "os.symlink": (1,),
}


def _moved(path: str, old: str, new: str) -> str:
    return new + path[len(old) :] if path == old or path.startswith(old + os.sep) else path


def relocated(value: Value, old: str, new: str) -> Value:
    """A copy of plain data in which every path under `old` is the same path under `new`."""
    return _Relocation(old, new).of(value)  # type: ignore[no-any-return]


class _Relocation:
    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new

    def of(self, value: Any) -> Any:
        if isinstance(value, str):
            return _moved(value, self._old, self._new) if self._old in value else value
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._of_fields(value)
        if isinstance(value, dict):
            return {self.of(key): self.of(each) for key, each in value.items()}
        if isinstance(value, (list, set, frozenset)):
            return type(value)(self.of(each) for each in value)
        if isinstance(value, tuple):
            made = [self.of(each) for each in value]
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        return value

    def _of_fields(self, value: Any) -> Any:
        """Only what changes is made again: objects that are shared stay shared."""
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        new = {name: self.of(each) for name, each in fields.items()}
        changed = {name: each for name, each in new.items() if each is not fields[name] and each != fields[name]}
        return dataclasses.replace(value, **changed) if changed else value
