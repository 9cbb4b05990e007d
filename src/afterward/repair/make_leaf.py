"""`make_leaf`: a computed value begins a graph of its own, so that it can be trained and gets a gradient."""

from __future__ import annotations

import libcst as cst

from afterward.repair.edits import Edit
from afterward.repair.names import assignment, named, normal, wrapped
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """Every update by hand like this one; else where the value is computed, or where it is stored."""
    stored = job.reading
    for source, statement in job.places((job.found.built, stored)):
        updates = [one for one in source.block_of(statement) or [] if _updates(source, one)]
        if statement in updates:
            edits = [edit for one in updates if (edit := _as_leaf(source, one)) is not None]
            yield job.patch(source, *edits)
        elif _reads_gradient(job):
            if source.alone(statement) and job.name in _given(source, statement):
                edit = source.insert_after(statement, f"{job.name}.retain_grad()")
                yield job.patch(source, edit)
        else:
            edit = _as_leaf(source, statement)
            if edit is not None:
                yield job.patch(source, edit)


def _reads_gradient(job: Job) -> bool:
    """Is it the gradient of the value that is missing, not a leaf to train?"""
    place = job.at(job.found.reused)
    return place is not None and any(named(place[0], place[1], f"{job.name}.grad"))


def _given(source: Source, statement: Statement) -> list[str]:
    made = assignment(statement)
    return [source.code(made.targets[0].target)] if isinstance(made, cst.Assign) and len(made.targets) == 1 else []


def _updates(source: Source, statement: Statement) -> bool:
    """`w = w - lr * w.grad`: a new value by the gradient of the old one."""
    return any(normal(f"{name}.grad") in normal(source.code(statement)) for name in _given(source, statement))


def _as_leaf(source: Source, statement: Statement) -> Edit | None:
    made = assignment(statement)
    if not isinstance(made, cst.Assign) or not _given(source, statement):
        return None
    value = made.value.elt if isinstance(made.value, cst.ListComp) else made.value
    if isinstance(value, (cst.List, cst.Tuple, cst.Dict, cst.DictComp)):
        return None  # of which only the items can be leaves
    return source.replace(value, f"{wrapped(source, value)}.detach().requires_grad_()")
