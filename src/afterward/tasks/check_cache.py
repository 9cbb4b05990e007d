"""What a check found before: kept by the content of the file and of the project's files that it imports.

A file whose size and time of change are those of last time is not read again, unless it was changed so close to
when it was read that a later change could have the same time. Losing the cache costs time only.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import stat
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

import afterward
from afterward.errors import HistoryUnreadable
from afterward.model.diagnosis import Diagnosis, Report
from afterward.model.saved import SavedRun, as_saved, read_saved
from afterward.tasks.checked import NOTHING, Looked

_CLOSE = 2_000_000_000  # nanoseconds: file systems keep times this coarsely, at worst
_DAMAGED = (HistoryUnreadable, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError)
_OLD = 30 * 24 * 3600  # seconds after which the cache of a folder nothing checks any more is deleted


@dataclass(frozen=True, slots=True)
class Known:
    """What a check had made of a file."""

    findings: tuple[Diagnosis, ...] = ()
    gaps: tuple[str, ...] = ()
    error: str | None = None
    looked: Looked = NOTHING


class Cache:
    """One file in the user's cache folder for each folder that checks are started from."""

    def __init__(self, enabled: bool) -> None:
        self.path = _place() if enabled else None
        self.entries: dict[str, list[Any]] = {}  # file: number in reads, error, gaps, findings, looked at
        self.states: dict[str, list[Any]] = {}  # file: time of change, size, hash of its content, when that was read
        self.reads: list[list[str]] = []
        self.changed = False
        self._numbers: dict[tuple[str, ...], int] = {}
        self._same: dict[str, bool] = {}
        self._intact: dict[int, bool] = {}
        self._now: dict[str, list[Any]] = {}
        if self.path is not None:
            self._load(self.path)

    def _load(self, path: Path) -> None:
        try:
            check, _, body = path.read_bytes().partition(b"\n")
            if check.decode() != _digest(body):
                return
            stored = json.loads(body)
            if stored["for"] == _ours():
                names = stored["names"]
                self.states = dict(zip(names, stored["states"], strict=True))
                self.reads = [[names[number] for number in numbers] for numbers in stored["reads"]]
                self.entries = {names[int(number)]: entry for number, entry in stored["entries"].items()}
        except (OSError, *_DAMAGED):
            self.entries, self.states, self.reads = {}, {}, []

    def find(self, file: str) -> Known | None:
        """What was found in a file, if neither it nor what it imports has changed since."""
        try:
            known = self._known(file)
        except _DAMAGED:
            known = None
        if known is None and self.path is not None:  # as it is before it is checked: it may be changed meanwhile
            self._now.setdefault(file, _state(file))
        return known

    def _known(self, file: str) -> Known | None:
        entry = self.entries.get(file)
        if entry is None or not self._is_same(file) or not self._is_intact(entry[0]):
            return None
        _, error, gaps, findings, looked = entry
        found = read_saved(findings).report.findings if findings else ()
        return Known(found, tuple(gaps), error, _looked(looked))

    def keep(self, file: str, read: Iterable[str], known: Known) -> None:
        if self.path is None:
            return
        self.changed = True
        others = tuple(sorted(one for one in read if not one.endswith(os.sep)))
        number = self._numbers.get(others)
        if number is None:
            number = self._numbers[others] = len(self.reads)
            self.reads.append(list(others))
        findings = as_saved(SavedRun(Report((), known.findings))) if known.findings else ""
        self.entries[file] = [number, known.error, list(known.gaps), findings, _as_lists(known.looked)]
        for one in (file, *others):
            self._now.setdefault(one, _state(one))

    def write(self, checked: Iterable[str]) -> None:
        """Write it back, atomically; a cache that cannot be written is no reason to fail."""
        if self.path is None or not self.changed:
            return
        try:
            body = self._body(set(checked))
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("wb", dir=self.path.parent, delete=False) as file:
                file.write(_digest(body).encode() + b"\n" + body)
            os.replace(file.name, self.path)
            _prune(self.path.parent)
        except (OSError, *_DAMAGED):
            pass

    def _body(self, here: set[str]) -> bytes:
        entries = {file: entry for file, entry in self.entries.items() if file in here or os.path.exists(file)}
        numbers = {old: new for new, old in enumerate(sorted({entry[0] for entry in entries.values()}))}
        reads = [self.reads[old] for old in numbers]
        names = sorted({*entries, *(name for one in reads for name in one)})
        place = {name: number for number, name in enumerate(names)}
        whole = {
            "for": _ours(),
            "names": names,
            "states": [self._now.get(name) or self.states.get(name) or _state(name) for name in names],
            "reads": [[place[name] for name in one] for one in reads],
            "entries": {place[file]: [numbers[entry[0]], *entry[1:]] for file, entry in entries.items()},
        }
        return json.dumps(whole, separators=(",", ":")).encode()

    # Has something changed?

    def _is_intact(self, number: int) -> bool:
        """Are all files of a list as they were?"""
        if number not in self._intact:
            self._intact[number] = all(self._is_same(file) for file in self.reads[number])
        return self._intact[number]

    def _is_same(self, file: str) -> bool:
        if file not in self._same:
            self._same[file] = self._compare(file)
        return self._same[file]

    def _compare(self, file: str) -> bool:
        changed, size, content, seen = self.states.get(file, (0, -1, "", 0))
        try:
            status = os.stat(file)
        except OSError:
            return bool(content == "")
        if status.st_size != size:
            return False
        if status.st_mtime_ns == changed and changed + _CLOSE < seen:
            return True
        now = self._now[file] = _state(file)
        self.changed = True  # so that its new time is remembered
        return bool(now[2] == content)


def _as_lists(looked: Looked) -> list[Any] | None:
    """None for the many files in which there is nothing to look at."""
    return [looked.loops, looked.analysed, looked.missed] if looked != NOTHING else None


def _looked(lists: list[Any] | None) -> Looked:
    return Looked(*(tuple(tuple(one) for one in part) for part in lists)) if lists is not None else NOTHING


def _state(file: str) -> list[Any]:
    """A file's time of change, its size, its content's hash, and when that was read."""
    try:
        status = os.stat(file)
        if not stat.S_ISREG(status.st_mode):  # reading a pipe would wait for ever
            return [0, -1, "", 0]
        return [status.st_mtime_ns, status.st_size, _digest(Path(file).read_bytes()), time.time_ns()]
    except OSError:
        return [0, -1, "", 0]


def _digest(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()


def _ours() -> str:
    """Answers of another version, or of other rules under development, do not count."""
    package = os.path.dirname(afterward.__file__)
    newest = 0
    for here, _, names in os.walk(package):
        for name in names:
            if name.endswith((".py", ".json")):
                newest = max(newest, os.stat(os.path.join(here, name)).st_mtime_ns)
    return f"{afterward.__version__} {platform.python_version()} {newest}"


def _place() -> Path | None:
    base = os.environ.get("AFTERWARD_CACHE")
    try:
        folder = Path(base) / "afterward" if base else platformdirs.user_cache_path("afterward", appauthor=False)
        return folder / f"{_digest(os.fsencode(os.getcwd()))[:16]}.json"
    except (OSError, RuntimeError):  # the folder we are in is gone, or it is not known whose cache it would be
        return None


def _prune(folder: Path) -> None:
    for file in folder.glob("*.json"):
        if time.time() - file.stat().st_mtime > _OLD:
            file.unlink()
