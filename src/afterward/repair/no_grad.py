"""`no_grad`: a trained tensor is written in place, as an update; or an evaluation is recorded, and never used."""

from __future__ import annotations

import libcst as cst

from afterward.repair.names import assigned_names, assignment, reads
from afterward.repair.passes import pass_calls, trains
from afterward.repair.remove_detach import is_without
from afterward.repair.source import Source, Statement, descendants
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
    if not isinstance(writing, (cst.SimpleStatementLine, cst.For, cst.While)) or is_without(source, writing):
        return
    within = [each for each in source.statements if writing in (each, *source.ancestors(each))]
    if any(pass_calls(each) or trains(list(job.shop.sources()), each) for each in within):
        return
    around = [loop for loop in source.loops_around(writing) if isinstance(loop, cst.For) and _only_writes(loop)]
    places: list[Statement] = [*reversed(around), writing]
    for statement in places:
        if source.alone(statement):
            several = _with_what_it_needs(source, statement) if job.found.freed is not None else [statement]
            yield job.patch(source, source.under("with torch.no_grad():", *several))


def _with_what_it_needs(source: Source, statement: Statement) -> list[Statement]:
    """With the lines before it that compute something for it alone: they record their graphs for nothing, too."""
    block, found = source.block_of(statement) or [statement], [statement]
    outer = list(source.ancestors(statement))
    others = [each for each in source.statements if source.function_of(each) is source.function_of(statement)]
    others = [each for each in others if each is not statement and each not in outer]
    for each in reversed(block[: block.index(statement)]):
        made = assignment(each)
        others.remove(each)
        adjacent = source.lines(each)[1] == source.lines(found[0])[0]
        if not adjacent or not isinstance(made, cst.Assign) or not isinstance(made.value, cst.Call):
            break
        if any(assigned_names(source, each) & reads(source, one) for one in others) or not source.alone(each):
            break
        found.insert(0, each)
    return found


def _only_writes(loop: cst.For) -> bool:
    """No `backward()` in it, and no assignment: every line is a call."""
    return not any(isinstance(node, cst.Assign) or pass_calls(node) for node in descendants(loop))
