"""What `run` and `check` report on a program, each in a forked process, and what must be the same in both."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from plantlab.forking import afterward, forked

LIMIT = 60.0  # seconds for one program
LOUD = ("error", "warning")

Finding = dict[str, Any]


@contextmanager
def placed(source: Path | str, leave_out: str = "fixed.py") -> Iterator[Path]:
    """A copy of a case's folder, or a program's text, in a folder of its own; the program's file is `buggy.py`."""
    with tempfile.TemporaryDirectory(prefix="engines-", ignore_cleanup_errors=True) as name:
        folder = Path(name, "program")
        if isinstance(source, str):
            folder.mkdir()
            (folder / "buggy.py").write_text(source, encoding="utf-8")
        else:
            shutil.copytree(source, folder, ignore=shutil.ignore_patterns(leave_out, "truth.json", "__pycache__"))
        yield folder


def ask(mode: str, folder: Path) -> dict[str, Any] | None:
    """What a command reports on the folder's program; None where it took too long or ended without a report."""
    report, printed = folder.parent / "report.json", folder.parent / "printed.txt"
    report.unlink(missing_ok=True)
    words = ["--no-cache"] if mode == "check" else []
    forked(
        lambda: afterward(mode, "--format", "json", "--out", str(report), *words, "buggy.py"), folder, LIMIT, printed
    )
    try:
        found: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found


def loud(report: dict[str, Any] | None) -> list[Finding]:
    return [found for found in (report or {}).get("findings", []) if found["severity"] in LOUD]


def summary(found: Finding) -> dict[str, Any]:
    """What both engines must say alike of one fault."""
    said = {role: _place(found.get(role)) for role in ("built", "freed", "reused", "written", "cut")}
    said["code"] = found["code"]
    said["bridge"] = (found.get("bridge") or {}).get("name")
    said["retain_graph"] = found.get("retain_graph")
    said["remedies"] = [(remedy["kind"], remedy.get("target")) for remedy in found.get("remedies", [])]
    return said


def _place(place: dict[str, Any] | None) -> tuple[str, int, int | None] | None:
    return (place["file"], place["line"], place.get("step")) if place else None
