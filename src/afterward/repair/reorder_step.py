"""`reorder_step`: all passes that need the parameters as they were come before the step that changes them."""

from __future__ import annotations

import libcst as cst

from afterward.model import facts
from afterward.repair.edits import Edit, Patch
from afterward.repair.move_step import of_the_one_that_waits, swapped
from afterward.repair.names import assigned_names, normal, reads
from afterward.repair.optimizers import held_by
from afterward.repair.passes import is_step, keyword, loss_of, only_call, pass_calls, receiver, with_keyword
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """Drop a step that comes again later; compute the loss after the step; or move the step behind the pass."""
    parted = job.parting(job.found.ways.written, job.found.ways.reused)
    if parted is None:
        return
    source, inner, backward = parted
    together = _in_one_block(source, inner, backward)
    if together is None:
        return
    writing, home = together
    if not source.alone(writing) or home not in source.after(writing):
        return
    yield from _written_again(job, source, writing, home)
    yield from swapped(job, source, home)
    yield from of_the_one_that_waits(job, source, writing)
    yield from _forward_after(job, source, writing, home)
    # Steps do not read each other. A write by hand reads what they change: an average of another network's weights.
    behind = next((each for each in source.after(home)[:1] if is_step(writing) and is_step(each)), home)
    if isinstance(behind, cst.SimpleStatementLine) and not isinstance(behind.body[0], cst.Return):
        edits = (*_without(source, writing, home), source.insert_after(behind, *source.dedented(writing)))
        yield job.patch(source, *edits)
        yield from _for_its_own_alone(job, source, writing, home, edits)


def _for_its_own_alone(
    job: Job, source: Source, writing: Statement, home: Statement, edits: tuple[Edit, ...]
) -> Candidates:
    """The same, where the pass leads to parameters of the step that moves: it is for those of its own step alone."""
    step = next((each for each in source.after(home) if is_step(each) and each is not writing), None)
    calls = [call for call in pass_calls(home) if loss_of(call) is not None and keyword(call, "inputs") is None]
    owner = receiver(step, "step") if step is not None else None
    if owner is None or not calls:
        return
    inputs = held_by(job, source, home, source.code(owner))
    given = with_keyword(source, calls[0], "inputs", inputs)
    if given is None:
        return
    told = (facts.lines("lines", source.site(calls[0])), facts.code("update", f"{source.code(owner)}.step()"))
    said = ("own_inputs", (facts.code("inputs", inputs), *told))
    yield job.patch(source, *edits, given, said=said)


def _in_one_block(source: Source, writing: Statement, backward: Statement) -> tuple[Statement, Statement] | None:
    """The two statements of the innermost block that holds both: a step under an `if` moves with the `if`."""
    for each in (writing, *source.ancestors(writing)):
        if isinstance(each, (cst.For, cst.While, cst.FunctionDef)) and each is not writing:
            return None
        if isinstance(each, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            block = source.block_of(each)
            home = source.in_block(backward, block) if block is not None else None
            if block is not None and home is not None and home is not each:
                return each, home
    return None


def _written_again(job: Job, source: Source, writing: Statement, home: Statement) -> Candidates:
    """The same step follows after the pass: the early one goes."""
    text = normal(source.code(writing))
    if only_call(writing) is not None and any(normal(source.code(s)) == text for s in source.after(home)):
        edits = _without(source, writing, home)
        yield job.patch(source, *edits)


def _without(source: Source, writing: Statement, home: Statement) -> list[Edit]:
    """The step goes from where it is, and with it what zeroes its gradients before the later pass: none are lost."""
    step = only_call(writing)
    owner = source.code(step.func.value) if step is not None and isinstance(step.func, cst.Attribute) else ""
    between = (each for each in source.between(writing, home) or () if source.alone(each))
    cleared = ((each, receiver(each, "zero_grad")) for each in between)
    mine = [each for each, one in cleared if one is not None and normal(source.code(one)) == normal(owner)]
    return [source.delete(statement) for statement in (writing, *mine)]


def _forward_after(job: Job, source: Source, writing: Statement, home: Statement) -> Candidates:
    """Compute what the pass uses after the step: its statements move to just behind it."""
    before = source.before(writing)
    between = [writing, *(source.between(writing, home) or ())]
    wanted = reads(source, home)
    moving: list[Statement] = []
    for statement in reversed(before):
        made = assigned_names(source, statement)
        if not made & wanted or not isinstance(statement, cst.SimpleStatementLine) or not source.alone(statement):
            continue
        others = [s for s in (*before[before.index(statement) + 1 :], *between) if s not in moving]
        if any(reads(source, s) & made for s in others):
            break  # something else needs it before the step
        moving.insert(0, statement)
        wanted |= reads(source, statement)
    for some in (_stale(job, source, moving), moving):
        if some:
            yield _moved_behind(job, source, writing, some)


def _stale(job: Job, source: Source, moving: list[Statement]) -> list[Statement]:
    """Of these statements, the one that met the old parameters, and what was computed from its result."""
    built = [at[1] for site in job.found.ways.built if (at := job.at(site)) is not None and at[0] is source]
    found: list[Statement] = []
    names: set[str] = set()
    for statement in moving:
        if statement in built or reads(source, statement) & names:
            found.append(statement)
            names |= assigned_names(source, statement)
    return found


def _moved_behind(job: Job, source: Source, writing: Statement, moving: list[Statement]) -> Patch:
    lines = tuple(line for statement in moving for line in source.dedented(statement))
    edits = [source.insert_after(writing, *lines), *(source.delete(s) for s in moving)]
    ", ".join(str(source.line(s)) for s in moving)
    names = sorted(set().union(*(assigned_names(source, s) for s in moving)))
    said = (
        "compute_after",
        (facts.names("computed", tuple(names)), facts.lines("lines", source.site(writing))),
    )
    return job.patch(source, *edits, said=said)
