"""The remedies of a report as changes that are checked, not run: what is shown before `afterward fix` proves one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

from afterward.model.diagnosis import Diagnosis, Proof, Remedy
from afterward.model.facts import Note
from afterward.model.saved import SavedRun
from afterward.tasks.check_file import Shared, check_bytes
from afterward.tasks.checked import Checked
from afterward.tasks.files import compiles

MOST = 8  # findings; a report with more is read from its beginning
TRIES = 6
RAISED = "AFT5"  # errors that `check` does not predict: their first change is shown as it is

CHECKED = Proof("checked", (Note("checked"),))


def sketched(run: SavedRun) -> SavedRun:
    """The run with, for each remedy, the first change after which `check` no longer finds the fault."""
    return replace(run, report=replace(run.report, findings=with_changes(run.report.findings, run.sources)))


def with_changes(findings: tuple[Diagnosis, ...], sources: Mapping[str, str]) -> tuple[Diagnosis, ...]:
    """The findings with those changes."""
    return tuple(_with_changes(found, sources) for found in findings[:MOST]) + findings[MOST:]


def _with_changes(found: Diagnosis, sources: Mapping[str, str]) -> Diagnosis:
    file = found.primary.site.file
    if not file.endswith(".py") or file not in sources:
        return found
    try:
        known = _checked(file, sources[file])
        remedies = tuple(_written(found, remedy, sources, file, known) for remedy in found.remedies)
    except Exception:  # a change is no reason to lose the report
        return found
    return replace(found, remedies=remedies)


def _written(found: Diagnosis, remedy: Remedy, sources: Mapping[str, str], file: str, known: Checked) -> Remedy:
    from afterward.repair import Workshop, candidates, unified

    unseen = found.code.startswith(RAISED) and not known.findings
    if remedy.patch or not (known.findings or unseen):
        return remedy
    for patch in islice(candidates(Workshop(sources), found, remedy), TRIES):
        text = patch.applied(sources).get(file)
        if text is None or len(patch.edits) > 1 or not compiles(text, file):
            continue
        change = unified(_name(file), sources[file], text, patch.edits[file])
        if unseen:
            return replace(patch.carries_out(remedy), patch=change)
        if _is_cured(known, _checked(file, text)):
            return replace(patch.carries_out(remedy), patch=change, proof=CHECKED)
    return remedy


def _is_cured(before: Checked, after: Checked) -> bool:
    """A finding has gone, none has come, and every training loop still has its `backward()`."""
    known, left = [found.code for found in before.findings], [found.code for found in after.findings]
    trains = len(after.looked.loops) >= len(before.looked.loops)
    return trains and len(left) < len(known) and all(left.count(code) <= known.count(code) for code in left)


def _checked(file: str, text: str) -> Checked:
    return check_bytes(file, text.encode("utf-8"), Shared())


def _name(file: str) -> str:
    return os.path.relpath(file) if os.path.isabs(file) else file
