"""Cuts that are written and do nothing: a result that nothing keeps, a method that is named and not called."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.repair.edits import Edit
from afterward.repair.names import assignable
from afterward.repair.passes import called_name, method_of, only_call, only_value
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """Make what is there count, wherever it stands in the program."""
    for source in job.shop.sources():
        for statement in source.statements:
            yield from _in_place(job, source, statement)
            yield from _kept(job, source, statement)
            yield from _called(job, source, statement)


def _in_place(job: Job, source: Source, statement: Statement) -> Candidates:
    """`h.detach()` as a statement drops its result; `h.detach_()` cuts `h` itself."""
    call = only_call(statement)
    if call is not None and not call.args and method_of(call) == "detach":
        yield job.patch(source, source.replace(call.func, f"{source.code(call.func)}_"))


def _kept(job: Job, source: Source, statement: Statement) -> Candidates:
    """`carry.map(torch.Tensor.detach)`, `repackage(h)`: the detached copy is given the name of what it copies."""
    call = only_call(statement)
    if call is None or not source.alone(statement) or not _gives_a_cut_copy(job, source, call):
        return
    for name in dict.fromkeys(_copied(source, call)):
        if assignable(name):
            start, _ = source.span(call)
            yield job.patch(source, Edit(start, start, f"{name} = "))


def _gives_a_cut_copy(job: Job, source: Source, call: cst.Call) -> bool:
    """Is a function told to detach, or is it one of the program's own that returns something detached?"""
    last = called_name(source, call)
    if last in ("detach", "detach_", "append", "extend", "backward", "print"):
        return False
    if any(_tells_to_cut(source, argument.value) for argument in call.args):
        return True
    return any(_returns_a_cut(other, function) for other, function in job.shop.functions(last))


def _tells_to_cut(source: Source, value: cst.BaseExpression) -> bool:
    """`torch.Tensor.detach`, `lambda t: t.detach()`"""
    text = source.code(value)
    return text.endswith("detach") if not isinstance(value, cst.Lambda) else "detach()" in text


def _returns_a_cut(source: Source, function: cst.FunctionDef) -> bool:
    code = source.code(function)
    return "detach()" in code and "return" in code


def _copied(source: Source, call: cst.Call) -> Iterator[str]:
    """What a call makes a copy of: the object that it is called on, or its first argument."""
    names = (cst.Name, cst.Attribute, cst.Subscript)
    given = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    if given and isinstance(given[0], names) and "detach" not in source.code(given[0]):
        yield source.code(given[0])
    if isinstance(call.func, cst.Attribute) and isinstance(call.func.value, names):
        yield source.code(call.func.value)


def _called(job: Job, source: Source, statement: Statement) -> Candidates:
    """`states.clear` as a statement names the method; `states.clear()` calls it."""
    method = only_value(statement)
    if isinstance(method, cst.Attribute):
        code = f"{source.code(method)}()"
        edit = source.replace(method, code)
        cuts = method.attr.value.startswith("detach")
        yield job.patch(source, edit) if cuts else job.begun_again(source, edit, code, source.code(method.value))
