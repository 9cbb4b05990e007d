"""`out_of_place`: make a new tensor in place of writing into one that the graph still needs."""

from __future__ import annotations

import keyword

import libcst as cst

from afterward.repair import hidden_writes
from afterward.repair.edits import Edit
from afterward.repair.names import assignable, assignment, root, wrapped
from afterward.repair.passes import only_call
from afterward.repair.scopes import imported
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job

VIEWS = "views"  # the form in which what is written is a part of one tensor, as its rows are


def candidates(job: Job) -> Candidates:
    for source, statement in job.places(
        (job.found.written, job.remedy.site, *reversed(job.found.ways.written)), alone=True
    ):
        name = _written_name(source, statement)
        if name is not None and _names_an_iteration(source, statement, name):
            yield from _several(job, source, statement, name)
            continue  # a new value for the loop's own name would be lost with the iteration
        text = _rewritten(source, statement)
        if text is not None:
            start, end = source.span(statement)
            yield job.patch(source, Edit(start, end, text))
        if name is not None:
            edit = source.insert_before(statement, f"{name} = {name}.clone()")
            yield job.patch(source, edit)
    yield from hidden_writes.candidates(job)


# Several tensors, written one after the other


def _names_an_iteration(source: Source, statement: Statement, name: str) -> bool:
    """Is it the name that a loop gives to what it goes over?"""
    loops = [loop for loop in source.loops_around(statement) if isinstance(loop, cst.For)]
    return any(name in _target_names(source, loop) for loop in loops)


def _target_names(source: Source, loop: cst.For | cst.CompFor) -> list[str]:
    target = loop.target
    return [source.code(e.value) for e in target.elements] if isinstance(target, cst.Tuple) else [source.code(target)]


def _several(job: Job, source: Source, statement: Statement, name: str) -> Candidates:
    """`for w, g in zip(fast, grads): w.sub_(g)` becomes `fast = [w.sub(g) for w, g in zip(fast, grads)]`."""
    text = _rewritten(source, statement)
    loop = source.loops_around(statement)[0]
    if text is None or not isinstance(loop, cst.For) or source.body(loop) != [statement] or loop.orelse is not None:
        return
    several = gone_over(source, loop, name)
    if several is None or not source.alone(loop):
        return
    value = text.removeprefix(f"{name} = ")
    head = f"for {source.code(loop.target)} in {source.code(loop.iter)}"
    start, end = source.bare_span(loop)
    made = f"torch.stack([{value} {head}])" if job.remedy.form == VIEWS else f"[{value} {head}]"
    edit = Edit(start, len(source.text[:end].rstrip("\r\n")), f"{several} = {made}")
    yield job.patch(source, edit)


def gone_over(source: Source, loop: cst.For | cst.CompFor, name: str) -> str | None:
    """The list that a loop's name stands for one of: `fast` of `for w, g in zip(fast, grads)`."""
    over = loop.iter
    if isinstance(over, cst.Call) and source.code(over.func) == "zip" and not any(a.star for a in over.args):
        place = _target_names(source, loop).index(name)
        over = over.args[place].value if place < len(over.args) else over
    return source.code(over) if isinstance(over, (cst.Name, cst.Attribute, cst.Subscript)) else None


# One tensor

# What puts something else in the place of all values has no method of the same name without the underscore.
OVERWRITING = {"copy_": "{1}.clone()", "zero_": "torch.zeros_like({0})", "fill_": "torch.full_like({0}, {1})"}
DRAWING = ("normal_", "uniform_", "random_", "exponential_", "cauchy_", "geometric_", "log_normal_")


def _rewritten(source: Source, statement: Statement) -> str | None:
    """`x *= y` as `x = x * y`, `x.relu_()` as `x = x.relu()`."""
    made = assignment(statement)
    if isinstance(made, cst.AugAssign) and isinstance(made.target, (cst.Name, cst.Attribute)):
        name = source.code(made.target)
        operator = type(made.operator).__name__.removesuffix("Assign")
        sign = {"Add": "+", "Subtract": "-", "Multiply": "*", "Divide": "/", "MatrixMultiply": "@", "Power": "**"}
        if operator in sign:
            return f"{name} = {name} {sign[operator]} {_operand(source, made.value)}"
    call, owner = _writing_call(source, statement)
    if call is None or owner is None:
        return None
    method = source.code(call.func).rsplit(".", 1)[-1]
    if method in OVERWRITING:
        given = [_operand(source, one.value) for one in call.args if one.keyword is None and not one.star]
        fits = len(given) == len(call.args) == OVERWRITING[method].count("{1}")
        return f"{owner} = {OVERWRITING[method].format(owner, *given)}" if fits else None
    if method in DRAWING or keyword.iskeyword(method[:-1]):
        return None
    rest = source.text[source.span(call.func)[1] : source.bare_span(call)[1]]
    return f"{owner} = {source.code(call.func)[:-1]}{rest}"


def _writing_call(source: Source, statement: Statement) -> tuple[cst.Call | None, str | None]:
    """The call that writes in place, and what it writes into: `x` of `x.relu_()` and of `F.relu_(x)`."""
    call = only_call(statement)
    if call is None or not isinstance(call.func, cst.Attribute):
        return None, None
    method, owner = call.func.attr.value, call.func.value
    if not method.endswith("_") or method.endswith("__"):
        return None, None
    if root(source.code(owner)) in imported(source):
        owner = call.args[0].value if call.args and not call.args[0].star else owner
    named = isinstance(owner, (cst.Name, cst.Attribute)) and assignable(source.code(owner))
    return call, source.code(owner) if named else None


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
    elif only_call(statement) is not None:
        return _writing_call(source, statement)[1] or _method_of_an_item(source, statement)
    while isinstance(target, cst.Subscript):
        target = target.value
    return source.code(target) if isinstance(target, (cst.Name, cst.Attribute)) else None


def _method_of_an_item(source: Source, statement: Statement) -> str | None:
    """`x` of `x[0].zero_()`"""
    call = _writing_call(source, statement)[0]
    owner = call.func.value if call is not None and isinstance(call.func, cst.Attribute) else None
    if not isinstance(owner, cst.Subscript):
        return None
    while isinstance(owner, cst.Subscript):
        owner = owner.value
    return source.code(owner) if isinstance(owner, (cst.Name, cst.Attribute)) else None
