"""`move_step`: an optimizer steps after the backward that computes its gradients, once for each time they are there."""

from __future__ import annotations

import libcst as cst

from afterward.repair.passes import only_call
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job

NEVER = "never"  # the form in which there is no step yet


def candidates(job: Job) -> Candidates:
    """Move the step behind the passes of its iteration; where it never steps, put one in."""
    place = job.at(job.found.freed or job.remedy.site)
    if place is None:
        return
    source, sweeping = place
    if job.remedy.form == NEVER:
        yield from _put_in(job, source, sweeping)
    else:
        yield from _behind(job, source, sweeping)


def _behind(job: Job, source: Source, sweeping: Statement) -> Candidates:
    for step in (each for each in source.statements if source.function_of(each) is source.function_of(sweeping)):
        call = only_call(step)
        if call is None or not isinstance(call.func, cst.Attribute) or call.func.attr.value != "step":
            continue
        block = source.block_of(step) or []
        home = source.in_block(sweeping, block)
        if home is not None and block.index(home) > block.index(step) and source.alone(step):
            edits = (source.delete(step), source.insert_after(home, *source.dedented(step)))
            lines = source.range(step).start.line, source.range(home).end.line
            yield job.patch(f"move line {lines[0]} after line {lines[1]}", source, *edits)


def _put_in(job: Job, source: Source, sweeping: Statement) -> Candidates:
    """Behind the pass, or behind the step of another optimizer that follows it."""
    block = source.block_of(sweeping) or []
    name = job.remedy.target
    if not name or sweeping not in block:
        return
    places = [sweeping]
    for statement in block[block.index(sweeping) + 1 :]:
        call = only_call(statement)
        if call is not None and isinstance(call.func, cst.Attribute) and call.func.attr.value == "step":
            places.append(statement)
            break
    for place in places:
        line = source.range(place).end.line
        yield job.patch(f"`{name}.step()` after line {line}", source, source.insert_after(place, f"{name}.step()"))
