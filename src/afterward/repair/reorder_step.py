"""`reorder_step`: all passes that need the parameters as they were come before the step that changes them."""

from __future__ import annotations

import libcst as cst

from afterward.model import facts
from afterward.model.site import Site
from afterward.repair.edits import Edit, Patch
from afterward.repair.move_step import of_the_one_that_waits, receiver, swapped
from afterward.repair.names import assigned_names, normal, reads
from afterward.repair.optimizers import held_by
from afterward.repair.passes import is_step, keyword, loss_of, only_call, pass_calls, with_keyword
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
    block, writing, home = together
    if not source.alone(writing) or block.index(home) <= block.index(writing):
        return
    yield from _written_again(job, source, block, writing, home)
    yield from swapped(job, source, home)
    yield from of_the_one_that_waits(job, source, writing)
    yield from _forward_after(job, source, block, writing, home)
    # Steps do not read each other. A write by hand reads what they change: an average of another network's weights.
    behind = _behind(source, block, home) if is_step(writing) else home
    if isinstance(behind, cst.SimpleStatementLine) and not isinstance(behind.body[0], cst.Return):
        edits = (*_without(source, block, writing, home), source.insert_after(behind, *source.dedented(writing)))
        lines = source.range(writing).start.line, source.range(behind).end.line
        yield job.patch(f"move line {lines[0]} after line {lines[1]}", source, *edits)
        yield from _for_its_own_alone(job, source, block, writing, home, edits)


def _for_its_own_alone(
    job: Job, source: Source, block: list[Statement], writing: Statement, home: Statement, edits: tuple[Edit, ...]
) -> Candidates:
    """The same, where the pass leads to parameters of the step that moves: it is for those of its own step alone."""
    step = next((each for each in block[block.index(home) + 1 :] if is_step(each) and each is not writing), None)
    calls = [call for call in pass_calls(home) if loss_of(call) is not None and keyword(call, "inputs") is None]
    owner = receiver(step, "step") if step is not None else None
    if owner is None or not calls:
        return
    inputs = held_by(job, source, home, source.code(owner))
    given = with_keyword(source, calls[0], "inputs", inputs)
    if given is None:
        return
    line = source.range(calls[0]).start.line
    told = (facts.lines("lines", Site(source.file, line, line)), facts.code("update", f"{source.code(owner)}.step()"))
    said = ("own_inputs", (facts.code("inputs", inputs), *told))
    yield job.patch(f"the same, with `inputs={inputs}` on line {line}", source, *edits, given, said=said)


def _in_one_block(
    source: Source, writing: Statement, backward: Statement
) -> tuple[list[Statement], Statement, Statement] | None:
    """The innermost block that holds both, and its two statements: a step under an `if` moves with the `if`."""
    for each in (writing, *source.ancestors(writing)):
        if isinstance(each, (cst.For, cst.While, cst.FunctionDef)) and each is not writing:
            return None
        if isinstance(each, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            block = source.block_of(each)
            home = source.in_block(backward, block) if block is not None else None
            if block is not None and home is not None and home is not each:
                return block, each, home
    return None


def _written_again(job: Job, source: Source, block: list[Statement], writing: Statement, home: Statement) -> Candidates:
    """The same step follows after the pass: the early one goes."""
    text = normal(source.code(writing))
    later = block[block.index(home) + 1 :]
    if only_call(writing) is not None and any(normal(source.code(s)) == text for s in later):
        line = source.range(writing).start.line
        edits = _without(source, block, writing, home)
        yield job.patch(f"drop the early step on line {line}", source, *edits)


def _without(source: Source, block: list[Statement], writing: Statement, home: Statement) -> list[Edit]:
    """The step goes from where it is, and with it what zeroes its gradients before the later pass: none are lost."""
    step = only_call(writing)
    owner = source.code(step.func.value) if step is not None and isinstance(step.func, cst.Attribute) else ""
    gone = [writing]
    for statement in block[block.index(writing) + 1 : block.index(home)]:
        call = only_call(statement)
        if call is not None and owner and normal(source.code(call.func)) == normal(f"{owner}.zero_grad"):
            gone += [statement] if source.alone(statement) else []
    return [source.delete(statement) for statement in gone]


def _forward_after(job: Job, source: Source, block: list[Statement], writing: Statement, home: Statement) -> Candidates:
    """Compute what the pass uses after the step: its statements move to just behind it."""
    before = block[: block.index(writing)]
    between = block[block.index(writing) : block.index(home)]
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
    shown = ", ".join(str(source.range(s).start.line) for s in moving)
    line = source.range(writing).start.line
    names = sorted(set().union(*(assigned_names(source, s) for s in moving)))
    said = (
        "compute_after",
        (facts.names("computed", tuple(names)), facts.lines("lines", Site(source.file, line, line))),
    )
    return job.patch(f"compute line {shown} after the step of line {line}", source, *edits, said=said)


def _behind(source: Source, block: list[Statement], home: Statement) -> Statement:
    """Behind the pass, and behind the step that follows it directly."""
    later = block[block.index(home) + 1 :]
    if later:
        call = only_call(later[0])
        if call is not None and isinstance(call.func, cst.Attribute) and call.func.attr.value == "step":
            return later[0]
    return home
