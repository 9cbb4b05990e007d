"""Takes back what a program that was only tried has written: files it changed are restored, files it made are removed.

The record is made by an audit hook in the tried process, before each write, and kept on disk: whoever started the
process can undo it however the process ended.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import threading
from pathlib import Path
from typing import Any

LARGEST = 1 << 30  # a larger file is not copied: the program is stopped before it writes there

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_JOURNAL = "journal"


class WriteRefused(OSError):
    """A tried program was about to change something that could not be put back."""


class Recorder:
    """Notes, before the first write to a path, what was there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ours = str(folder.parent) + os.sep  # where the result of the trial is left
        self._seen: set[str] = set()
        self._busy = threading.local()

    def install(self) -> None:
        sys.addaudithook(self._audit)

    def before_write(self, path: Any) -> None:
        """Keep a copy of the file at this path, or note that there is none."""
        name = _absolute(path)
        if name is None or name in self._seen or name.startswith(self._ours):
            return
        self._seen.add(name)
        try:
            state = os.stat(name)
        except OSError:
            self._note({"path": name, "made": True})
            return
        if stat.S_ISDIR(state.st_mode):
            self._note({"path": name, "folder": True})
        elif stat.S_ISREG(state.st_mode):
            if state.st_size > LARGEST:
                raise WriteRefused(f"the program writes to {name}, which is too large to be put back after a trial")
            copy = f"{os.getpid()}-{len(self._seen)}"
            shutil.copy2(name, self.folder / copy)
            self._note({"path": name, "copy": copy})

    def _audit(self, event: str, args: tuple[Any, ...]) -> None:
        paths = _written(event, args)
        if not paths or getattr(self._busy, "now", False):
            return
        self._busy.now = True
        try:
            for path in paths:
                self.before_write(path)
        finally:
            self._busy.now = False

    def _note(self, entry: dict[str, Any]) -> None:
        line = json.dumps(entry).encode() + b"\n"
        number = os.open(self.folder / _JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(number, line)
        finally:
            os.close(number)


def _written(event: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The paths that an audited event is about to change."""
    if event == "open":
        path, mode, flags = args
        writes = bool(flags & _WRITING) if isinstance(flags, int) else bool(set(str(mode)) & set("wax+"))
        return (path,) if writes else ()
    if event in ("os.remove", "os.rmdir"):
        return (_within(args[0], args[1]),)
    if event == "os.mkdir":
        return (_within(args[0], args[2]),)
    if event == "os.truncate":
        return (args[0],)
    if event == "os.rename":
        return (_within(args[0], args[2]), _within(args[1], args[3]))
    if event == "os.link":
        return (_within(args[1], args[3]),)
    if event == "os.symlink":
        return (_within(args[1], args[2]),)
    return ()


def _within(path: Any, folder: Any) -> Any:
    """A path that is relative to an open folder, made absolute."""
    if isinstance(folder, int) and folder >= 0 and not isinstance(path, int):
        try:
            return os.path.join(os.readlink(f"/proc/self/fd/{folder}"), os.fsdecode(path))
        except OSError:
            return path
    return path


def _absolute(path: Any) -> str | None:
    if isinstance(path, int):
        return None  # a descriptor: opened, and so noted, before
    try:
        name = os.path.abspath(os.fsdecode(path))
    except (TypeError, ValueError):
        return None
    return None if name.startswith(("/dev/", "/proc/", "/sys/")) else name


def undo(folder: Path) -> list[str]:
    """Put everything back as it was, newest change first; says which paths could not be."""
    journal = folder / _JOURNAL
    failed: list[str] = []
    if not journal.exists():
        return failed
    for line in reversed(journal.read_bytes().splitlines()):
        entry = json.loads(line)
        try:
            _put_back(folder, entry)
        except OSError:
            failed.append(entry["path"])
    return failed


def _put_back(folder: Path, entry: dict[str, Any]) -> None:
    path = Path(entry["path"])
    if "copy" in entry:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / entry["copy"], path)
    elif entry.get("folder"):
        path.mkdir(parents=True, exist_ok=True)
    elif path.is_dir() and not path.is_symlink():
        if not any(path.iterdir()):
            path.rmdir()
    else:
        path.unlink(missing_ok=True)
