"""`fit_gradient`: give a gradient the form of what it belongs to."""

from __future__ import annotations

import libcst as cst

from afterward.repair.edits import Edit
from afterward.repair.names import assignment, wrapped
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """`None` for each argument that a custom `backward` returns nothing for; the shape of the tensor otherwise."""
    returned = job.at(job.reading)
    if returned is not None and (edit := _with_none(*returned)) is not None:
        yield job.patch(returned[0], edit)
    place = job.at(job.found.reused)
    if place is not None and (edit := _viewed(*place)) is not None:
        yield job.patch(place[0], edit)


def _with_none(source: Source, statement: Statement) -> Edit | None:
    only = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    around = [node for node in source.ancestors(statement) if isinstance(node, cst.ClassDef)]
    if not isinstance(only, cst.Return) or only.value is None or not around:
        return None
    methods = (node for node in descendants(around[0]) if isinstance(node, cst.FunctionDef))
    forward = next((one for one in methods if one.name.value == "forward"), None)
    has = len(only.value.elements) if isinstance(only.value, cst.Tuple) else 1
    missing = len(forward.params.params) - 1 - has if forward is not None else 0  # without `ctx`
    nones = ", ".join(["None"] * missing)
    return source.replace(only.value, f"{source.code(only.value)}, {nones}") if missing > 0 else None


def _viewed(source: Source, statement: Statement) -> Edit | None:
    """`p.grad = flat[i:j]` becomes `p.grad = flat[i:j].view_as(p)`."""
    made = assignment(statement)
    target = made.targets[0].target if isinstance(made, cst.Assign) else None
    if not isinstance(made, cst.Assign) or not isinstance(target, cst.Attribute) or target.attr.value != "grad":
        return None
    return source.replace(made.value, f"{wrapped(source, made.value)}.view_as({source.code(target.value)})")
