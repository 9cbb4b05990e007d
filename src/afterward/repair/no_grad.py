"""`no_grad`: a trained tensor is written in place, as an update; or an evaluation is recorded, and never used."""

from __future__ import annotations

import libcst as cst

from afterward.repair.passes import pass_calls
from afterward.repair.remove_detach import is_without
from afterward.repair.source import Statement, descendants
from afterward.repair.workshop import Candidates, Job

UNSURE = ("between", "not_trained")  # it may be meant to be trained


def candidates(job: Job) -> Candidates:
    """Around the loop over the parameters, which does nothing but write to them; else around the statement."""
    if job.remedy.form in UNSURE:
        return
    place = job.at(job.found.reused or job.found.primary.site)
    if place is None:
        return
    source, writing = place
    if not isinstance(writing, cst.SimpleStatementLine) or is_without(source, writing):
        return
    around = [loop for loop in source.loops_around(writing) if isinstance(loop, cst.For) and _only_writes(loop)]
    places: list[Statement] = [*reversed(around), writing]
    for statement in places:
        if source.alone(statement):
            yield job.patch(source, source.under("with torch.no_grad():", statement))


def _only_writes(loop: cst.For) -> bool:
    """No `backward()` in it, and no assignment: every line is a call."""
    return not any(isinstance(node, cst.Assign) or pass_calls(node) for node in descendants(loop))
