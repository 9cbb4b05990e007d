"""The remedies of a report as changes that are checked, not run: what is shown before `afterward fix` proves one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from afterward.model.diagnosis import Diagnosis, Proof, Remedy
from afterward.model.facts import Note
from afterward.model.saved import SavedRun
from afterward.tasks.checked import Checked
from afterward.tasks.checked_change import changes, checked, cures

if TYPE_CHECKING:
    from afterward.repair import Patch

MOST = 8  # findings; a report with more is read from its beginning
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
        known = checked(file, sources[file])
        remedies = tuple(_written(found, remedy, sources, file, known) for remedy in found.remedies)
    except Exception:  # a change is no reason to lose the report
        return found
    return replace(found, remedies=remedies)


def _written(found: Diagnosis, remedy: Remedy, sources: Mapping[str, str], file: str, known: Checked) -> Remedy:
    unseen = found.code.startswith(RAISED) and not known.findings
    if remedy.patch or not (known.findings or unseen):
        return remedy
    for patch, text in changes(found, remedy, sources, file):
        written = replace(patch.carries_out(remedy), patch=_diff(file, sources[file], text, patch))
        if unseen:
            return written
        if cures(known, checked(file, text)):
            return replace(written, proof=CHECKED)
    return remedy


def _diff(file: str, before: str, after: str, patch: Patch) -> str:
    from afterward.repair import unified

    name = os.path.relpath(file) if os.path.isabs(file) else file
    return unified(name, before, after, patch.edits[file])
