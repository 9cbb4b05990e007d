"""`ask_for_gradient`: a tensor that is differentiated, or trained, does not require gradients: let it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.repair.names import assignment, named, normal, targets
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job

ASKING = ".requires_grad_()"


def candidates(job: Job) -> Candidates:
    """What a derivative is asked for, from where it is made; else what an optimizer is given by name."""
    place = job.at(job.found.reused)
    if place is None:
        return
    source, statement = place
    if job.found.code == "AFT506":
        yield from _differentiated(job, source, statement)
    else:
        yield from _trained(job, source)


def _differentiated(job: Job, source: Source, statement: Statement) -> Candidates:
    name, here = job.name, source.function_of(statement)
    if not name.isidentifier():
        return
    lines = (each for each in source.within(here) if isinstance(each, cst.SimpleStatementLine))
    before = [each for each in lines if source.line(each) < source.line(statement)]
    made = [each for each in before if name in map(source.code, targets(each)) and source.alone(each)]
    if made:
        edit = source.insert_after(made[-1], f"{name}{ASKING}")
        yield job.patch(source, edit)
    read = next((each for each in before if any(True for _ in named(source, each, name)) and source.alone(each)), None)
    if read is not None:  # the caller's tensor stays as it is
        edit = source.insert_before(read, f"{name} = {name}.detach(){ASKING}")
        yield job.patch(source, edit)


def _trained(job: Job, source: Source) -> Candidates:
    """`image` of `LBFGS([image])`."""
    for statement in source.statements:
        made = assignment(statement)
        value = made.value if made is not None and source.alone(statement) else None
        for name in _given(source, value) if isinstance(value, cst.Call) else ():
            if _steps(source, targets(statement)):
                edit = source.insert_before(statement, f"{name}{ASKING}")
                yield job.patch(source, edit)


def _given(source: Source, call: cst.Call) -> Iterator[str]:
    first = call.args[0].value if call.args else None
    for element in first.elements if isinstance(first, (cst.List, cst.Tuple)) else ():
        if isinstance(element.value, (cst.Name, cst.Attribute)):
            yield source.code(element.value)


def _steps(source: Source, given: list[cst.BaseExpression]) -> bool:
    """Does the file call `step` of what is given this name?"""
    return any(normal(f"{source.code(one)}.step(") in normal(source.text) for one in given)
