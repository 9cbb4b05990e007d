"""`remove_duplicate`: drop the surplus pass, or the part of a sum that was already used."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.model import facts
from afterward.model.names import container_of
from afterward.repair.filled_together import beside
from afterward.repair.names import assignable, assignment, fresh, normal, plain_names, targets
from afterward.repair.out_of_place import gone_over
from afterward.repair.passes import loss_of, only_call, own_nodes, pass_calls, receiver
from afterward.repair.scopes import names_at_loop
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    yield from _part_already_used(job)
    yield from _surplus_pass(job)


# A running sum


def _part_already_used(job: Job) -> Candidates:
    """Call backward on the new loss alone and add its number to the sum; or cut the sum once it was used."""
    place = job.at(job.found.reused)
    if place is None or job.found.name not in ("loss-accumulated", "stepped-before-backward", "history-cached"):
        return
    source, backward = place
    calls = pass_calls(backward)
    loss = loss_of(calls[0]) if calls else None
    if loss is not None:
        yield from _new_loss_alone(job, source, backward, loss)
    whole = container_of(job.name)
    if not whole or not assignable(whole) or only_call(backward) is None or not source.alone(backward):
        return
    names = [*_collections(job, whole), *names_at_loop(job, source, backward, whole)]
    for name in dict.fromkeys(names):
        others = beside(job, source, backward, name)
        said = ("clear_terms", (facts.names("target", (name, *others)) if others else facts.code("target", name),))
        if others:
            edit = source.insert_after(backward, *(f"{each}.clear()" for each in (name, *others)))
            yield job.patch(source, edit, said=said)
            continue
        for cut in (f"{name} = {name}.detach()", f"{name}.clear()", f"{name} = 0"):
            edit = source.insert_after(backward, cut)
            yield job.patch(source, edit, said=said)


def _collections(job: Job, name: str) -> Iterator[str]:
    """What a loop takes the value from, where its name is that of an iteration: `saved` of `for loss in saved`."""
    place = job.at(job.reading)
    if place is None:
        return
    source, reading = place
    inside = [node for node in own_nodes(reading) if isinstance(node, cst.CompFor)]
    for loop in (*inside, reading, *source.loops_around(reading)):
        if isinstance(loop, (cst.For, cst.CompFor)) and name in plain_names(loop.target):
            several = gone_over(source, loop, name)
            if several is not None:
                yield several


def _new_loss_alone(job: Job, source: Source, backward: Statement, loss: cst.BaseExpression) -> Candidates:
    name = source.code(loss)
    for statement in reversed(source.before(backward)):
        if not any(normal(source.code(target)) == normal(name) for target in targets(statement)):
            continue
        added = _added(source, statement, name)
        if added is None or not source.alone(statement):
            return
        alone = added if isinstance(added, cst.Name) else None
        new = source.code(added) if alone is not None else fresh(source, "step_loss")
        edits = [source.replace(added, f"{new}.item()"), source.replace(loss, new)]
        if alone is None:
            edits.append(source.insert_before(statement, f"{new} = {source.code(added)}"))
        yield job.patch(source, *edits)
        return


def _added(source: Source, statement: Statement, name: str) -> cst.BaseExpression | None:
    """What a statement adds to the sum: `x` of `sum += x` or `sum = sum + x`."""
    found = assignment(statement)
    if isinstance(found, cst.AugAssign) and isinstance(found.operator, cst.AddAssign):
        return found.value
    value = found.value if isinstance(found, cst.Assign) else None
    if isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        if normal(source.code(value.left)) == normal(name):
            return value.right
        if normal(source.code(value.right)) == normal(name):
            return value.left
    return None


# A pass too many


def _surplus_pass(job: Job) -> Candidates:
    late, early = job.at(job.found.reused or job.remedy.site), job.at(job.found.freed)
    parted = job.parting(job.found.ways.freed, job.found.ways.reused)
    order = [late, early]
    if late is not None and "scale" in late[0].code(late[1]):
        order = [early, late]  # a scaler wants its own backward; the plain one is the one left behind
    if parted is not None:
        order += [(parted[0], parted[2]), (parted[0], parted[1])]
    order += [job.at(label.site) for label in job.found.secondary]
    seen = set()
    for place in order:
        if place is None or (place[0].file, id(place[1])) in seen:
            continue
        seen.add((place[0].file, id(place[1])))
        source, statement = place
        if not source.alone(statement) or not isinstance(statement, cst.SimpleStatementLine):
            continue
        if only_call(statement) is not None and pass_calls(statement):  # another call does more than the pass
            yield job.patch(source, source.delete(statement))
            yield from _with_its_clearing(job, source, statement)


def _with_its_clearing(job: Job, source: Source, statement: Statement) -> Candidates:
    """`net.zero_grad()`, `loss.backward()`: without the pass, the gradients that are there must stay."""
    before = next(reversed(source.before(statement)), None)
    if before is not None and receiver(before, "zero_grad") is not None and source.alone(before):
        edits = (source.delete(before), source.delete(statement))
        yield job.patch(source, *edits)
