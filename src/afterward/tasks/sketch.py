"""The remedies of a run as changes that are checked, not run: what a page shows before `afterward fix` proves one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice

from afterward.model.diagnosis import Diagnosis, Proof, Remedy
from afterward.model.facts import Note
from afterward.model.saved import SavedRun
from afterward.tasks.check_file import Shared, check_bytes
from afterward.tasks.files import compiles

MOST = 8  # findings; a page with more is read from its beginning
TRIES = 6

CHECKED = Proof("checked", (Note("checked"),))


def sketched(run: SavedRun) -> SavedRun:
    """The run with, for each remedy, the first change after which `check` no longer finds the fault."""
    findings = run.report.findings
    told = tuple(_with_changes(found, run.sources) for found in findings[:MOST])
    return replace(run, report=replace(run.report, findings=told + findings[MOST:]))


def _with_changes(found: Diagnosis, sources: Mapping[str, str]) -> Diagnosis:
    file = found.primary.site.file
    if not file.endswith(".py") or file not in sources:
        return found
    try:
        known = _codes(file, sources[file])
        remedies = tuple(_written(found, remedy, sources, file, known) for remedy in found.remedies)
    except Exception:  # a picture is no reason to lose the report
        return found
    return replace(found, remedies=remedies)


def _written(found: Diagnosis, remedy: Remedy, sources: Mapping[str, str], file: str, known: list[str]) -> Remedy:
    from afterward.repair import Workshop, candidates, unified

    if not known or remedy.patch:
        return remedy
    for patch in islice(candidates(Workshop(sources), found, remedy), TRIES):
        text = patch.applied(sources).get(file)
        if text is None or len(patch.edits) > 1 or not compiles(text, file):
            continue
        left = _codes(file, text)
        if len(left) < len(known) and all(left.count(code) <= known.count(code) for code in left):
            return replace(remedy, patch=unified(_name(file), sources[file], text), proof=CHECKED)
    return remedy


def _codes(file: str, text: str) -> list[str]:
    return [found.code for found in check_bytes(file, text.encode("utf-8"), Shared()).findings]


def _name(file: str) -> str:
    return os.path.relpath(file) if os.path.isabs(file) else file
