"""What a run does not show of a patch that keeps a graph: a derivative that enters the loss as a plain number.

`retain_graph=True` on an `autograd.grad` ends the error. What that call returns has no graph all the same: where it is
part of the loss, it has no effect on training, and no run raises for it. The text says where the value goes, through
dictionaries and loss functions too.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace

from afterward.model.diagnosis import Diagnosis
from afterward.model.facts import Fact, FactKind, Note
from afterward.tasks.check import check
from afterward.tasks.check_settings import Settings
from afterward.tasks.cure import Cure
from afterward.tasks.proof import Bench, Verdict

FLAT = "AFT407"


def without_flat_derivatives(cure: Cure, bench: Bench, texts: Mapping[str, str]) -> Cure:
    """The patch as it was judged; not proven where its text shows a derivative that is left without a graph."""
    there = any(found.code == FLAT for found in bench.base.report.findings)
    if cure.verdict.outcome != "proven" or there or not any("autograd.grad" in text for text in cure.texts.values()):
        return cure
    if not any(found.code == FLAT for found in _predicted(texts)):
        return cure
    told = Note("then", (Fact("finding", FactKind.CODE, FLAT),))
    return replace(cure, verdict=Verdict("changed", replace(cure.verdict.proof, status="failed", notes=(told,))))


def _predicted(texts: Mapping[str, str]) -> tuple[Diagnosis, ...]:
    """What `check` finds in these texts, which are not those on disk."""
    files = [file for file in texts if file.endswith(".py")]
    if not files:
        return ()
    above = os.path.commonpath([os.path.dirname(file) for file in files])
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            copy = os.path.join(folder, os.path.relpath(file, above))
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            with open(copy, "w", encoding="utf-8") as out:
                out.write(texts[file])
        return check([folder], Settings(jobs=1, cache=False)).report.findings
