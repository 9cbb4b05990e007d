"""`detach_value`: hand on the numbers of a tensor, without its graph."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from afterward.model.names import container_of
from afterward.repair import item_for_logging
from afterward.repair.edits import Edit
from afterward.repair.names import assignable, assignment, named, wrapped
from afterward.repair.passes import only_call, own_nodes
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job

_CONVERTING = ("numpy", "__array__")


def candidates(job: Job) -> Candidates:
    """Where it is used; before that statement, if it is a part of what is used; else where it was stored."""
    place = job.at(job.found.reused)
    if place is None:
        return
    source, statement = place
    if not job.name:
        yield from _unnamed(job, source, statement)
        return
    frozen = _frozen(source, statement)
    uses = _taken_out(source, list(named(source, statement, job.name)))
    if frozen is not None and _is_on(source, statement) and source.alone(statement):
        yield job.patch(source, source.delete(statement))
    if frozen is not None:
        edit = Edit(*source.span(statement), f"{frozen} = {frozen}.detach()")
        yield job.patch(source, edit)
        return
    if uses:
        for some in dict.fromkeys([*((one,) for one in uses), tuple(uses)]):
            edits = [source.replace(one, f"{wrapped(source, one)}.detach()") for one in some]
            yield job.patch(source, *edits)
    elif container_of(job.name) == job.name and assignable(job.name) and source.alone(statement):
        edit = source.insert_before(statement, f"{job.name} = {job.name}.detach()")
        yield job.patch(source, edit)
    stored = job.reading
    if stored is not None:
        yield from item_for_logging.candidates(Job(job.shop, job.found, replace(job.remedy, site=stored)))


def _unnamed(job: Job, source: Source, statement: Statement) -> Candidates:
    """What is converted as soon as it is computed: `actor(state)` of `actor(state).numpy()`."""
    for node in own_nodes(statement):
        if isinstance(node, cst.Attribute) and node.attr.value in _CONVERTING and isinstance(node.value, cst.Call):
            edit = source.replace(node.value, f"{source.code(node.value)}.detach()")
            yield job.patch(source, edit)


def _taken_out(source: Source, uses: list[cst.BaseExpression]) -> list[cst.BaseExpression]:
    """Of several places that read it, those that convert it: `out` of `out.cpu().numpy()`."""
    converted = [one for one in uses if _is_converted(source, one)]
    return converted or uses


def _is_converted(source: Source, node: cst.CSTNode) -> bool:
    parent = source.parent(node)
    while (
        isinstance(parent, (cst.Attribute, cst.Call)) and getattr(parent, "func", getattr(parent, "value", 0)) is node
    ):
        if isinstance(parent, cst.Attribute) and parent.attr.value in _CONVERTING:
            return True
        node, parent = parent, source.parent(parent)
    return False


def _frozen(source: Source, statement: Statement) -> str | None:
    """`h` of `h.requires_grad = False` and of `h.requires_grad_(False)`."""
    made, call = assignment(statement), only_call(statement)
    target = made.targets[0].target if isinstance(made, cst.Assign) else call.func if call is not None else None
    if isinstance(target, cst.Attribute) and target.attr.value in ("requires_grad", "requires_grad_"):
        name = source.code(target.value)
        return name if assignable(name) else None
    return None


def _is_on(source: Source, statement: Statement) -> bool:
    """`loss.requires_grad = True`: what a value with a graph has by itself."""
    made = assignment(statement)
    return isinstance(made, cst.Assign) and source.code(made.value) == "True"
