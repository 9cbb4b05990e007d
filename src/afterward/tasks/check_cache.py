"""What a check found before: kept by the content of the file and of the project's files that it imports."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import afterward
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.site import Site


class Cache:
    """One file in the user's cache folder for each folder that checks are started from. Losing it costs time only."""

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self.entries: dict[str, Any] = {}
        self.hashes: dict[str, str] = {}
        self.changed = False
        self.path = _place() if enabled else None
        if self.path is not None:
            try:
                stored = json.loads(self.path.read_text(encoding="utf-8"))
                if stored.get("for") == _ours():
                    self.entries = stored["entries"]
            except (OSError, ValueError, AttributeError, KeyError):
                self.entries = {}

    def find(self, file: str) -> dict[str, Any] | None:
        """What was found in a file, if neither it nor what it imports has changed since."""
        entry = self.entries.get(file)
        if entry is None or not self.enabled or entry["hash"] != self._hash(file):
            return None
        if any(self._hash(other) != known for other, known in entry["read"].items()):
            return None
        try:
            return {**entry["found"], "findings": [_diagnosis(one) for one in entry["found"]["findings"]]}
        except (KeyError, TypeError, ValueError):
            return None

    def keep(self, file: str, read: Iterable[str], found: dict[str, Any]) -> None:
        if not self.enabled:
            return
        self.changed = True
        self.entries[file] = {
            "hash": self._hash(file),
            "read": {other: self._hash(other) for other in read},
            "found": {**found, "findings": [dataclasses.asdict(one) for one in found["findings"]]},
        }

    def write(self) -> None:
        """Write it back, atomically; a cache that can not be written is no reason to fail."""
        if self.path is None or not self.changed:
            return
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.path.parent, delete=False, encoding="utf-8") as file:
                json.dump({"for": _ours(), "entries": self.entries}, file)
            os.replace(file.name, self.path)
        except OSError:
            pass

    def _hash(self, file: str) -> str:
        if file not in self.hashes:
            try:
                self.hashes[file] = hashlib.sha1(Path(file).read_bytes(), usedforsecurity=False).hexdigest()
            except OSError:
                self.hashes[file] = ""
        return self.hashes[file]


def _ours() -> str:
    """Answers of another version, or of other rules under development, do not count."""
    package = Path(afterward.__file__).parent
    newest = max((one.stat().st_mtime_ns for one in package.rglob("*.py")), default=0)
    return f"{afterward.__version__} {platform.python_version()} {newest}"


def _place() -> Path | None:
    base = os.environ.get("AFTERWARD_CACHE") or os.environ.get("XDG_CACHE_HOME")
    try:
        folder = Path(base) if base else Path.home() / ".cache"
    except RuntimeError:
        return None
    name = hashlib.sha1(os.getcwd().encode(), usedforsecurity=False).hexdigest()[:16]
    return folder / "afterward" / f"{name}.json"


# Back from JSON


def _site(data: Any) -> Site | None:
    return Site(**data) if data is not None else None


def _label(data: Any) -> Label:
    site = _site(data["site"])
    assert site is not None
    return Label(site, data["text"])


def _diagnosis(data: dict[str, Any]) -> Diagnosis:
    bridge = data["bridge"]
    return Diagnosis(
        **{
            **data,
            "primary": _label(data["primary"]),
            "secondary": tuple(_label(one) for one in data["secondary"]),
            "notes": tuple(data["notes"]),
            "remedies": tuple(
                Remedy(**{**one, "effect": Effect(one["effect"]), "site": _site(one["site"])})
                for one in data["remedies"]
            ),
            **{name: _site(data[name]) for name in ("built", "freed", "reused", "written", "cut")},
            "bridge": Bridge(**{**bridge, "site": _site(bridge["site"])}) if bridge is not None else None,
            "severity": Severity(data["severity"]),
        }
    )
