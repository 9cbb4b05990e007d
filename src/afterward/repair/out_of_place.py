"""`out_of_place`: make a new tensor in place of writing into one that the graph still needs."""

from __future__ import annotations

import keyword

import libcst as cst

from afterward.repair.edits import Edit
from afterward.repair.names import assignment, wrapped
from afterward.repair.passes import only_call
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    for site in dict.fromkeys((job.found.written, job.remedy.site, *reversed(job.found.ways.written))):
        place = job.at(site)
        if place is None or not place[0].alone(place[1]):
            continue
        source, statement = place
        line = source.range(statement).start.line
        text = _rewritten(source, statement)
        if text is not None:
            start, end = source.span(statement)
            yield job.patch(f"make a new tensor on line {line}", source, Edit(start, end, text))
        name = _written_name(source, statement)
        if name is not None:
            edit = source.insert_before(statement, f"{name} = {name}.clone()")
            yield job.patch(f"clone `{name}` before line {line}", source, edit)


def _rewritten(source: Source, statement: Statement) -> str | None:
    """`x *= y` as `x = x * y`, `x.relu_()` as `x = x.relu()`."""
    made = assignment(statement)
    if isinstance(made, cst.AugAssign) and isinstance(made.target, (cst.Name, cst.Attribute)):
        name = source.code(made.target)
        operator = type(made.operator).__name__.removesuffix("Assign")
        sign = {"Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "MatrixMultiply": "@", "Power": "**"}
        if operator in sign:
            return f"{name} = {name} {sign[operator]} {_operand(source, made.value)}"
    call = only_call(statement)
    if call is not None and isinstance(call.func, cst.Attribute):
        method = call.func.attr.value
        if (
            method.endswith("_")
            and not method.endswith("__")
            and not keyword.iskeyword(method[:-1])
            and isinstance(call.func.value, (cst.Name, cst.Attribute))
        ):
            name = source.code(call.func.value)
            rest = source.text[source.span(call.func)[1] : source.bare_span(call)[1]]
            return f"{name} = {name}.{method[:-1]}{rest}"
    return None


def _operand(source: Source, value: cst.BaseExpression) -> str:
    return source.code(value) if isinstance(value, cst.BaseNumber) else wrapped(source, value)


def _written_name(source: Source, statement: Statement) -> str | None:
    """The tensor that an indexed assignment or a method writes into."""
    made = assignment(statement)
    target: cst.BaseExpression | None = None
    if isinstance(made, cst.AugAssign):
        target = made.target
    elif isinstance(made, cst.Assign) and isinstance(made.targets[0].target, cst.Subscript):
        target = made.targets[0].target
    call = only_call(statement)
    if call is not None and isinstance(call.func, cst.Attribute):
        target = call.func.value
    while isinstance(target, cst.Subscript):
        target = target.value
    return source.code(target) if isinstance(target, (cst.Name, cst.Attribute)) else None
