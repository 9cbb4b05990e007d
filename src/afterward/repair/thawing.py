"""Parameters that were frozen while another network is trained, and never thawed: let them need gradients again."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from afterward.model import facts
from afterward.repair.names import assigned_names, reads, root
from afterward.repair.passes import called_name, only_call
from afterward.repair.scopes import known_at
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job, Place

_OFF = re.compile(r"(requires_grad_\(|requires_grad\s*=\s*|[(,]\s*)False(?=\s*[),]|\s*(#.*)?$)")


def candidates(job: Job) -> Candidates:
    """`freeze(D)` for the generator gets its counterpart where the part of the pass begins that needs `D`."""
    place = job.at(job.found.reused or job.found.primary.site)
    if place is None:
        return
    source, backward = place
    for other, frozen in freezing(job):
        body = _iteration_of(source, backward, frozen) if other is source else None
        if not body or frozen is body[0] or _comes_last(other, body, frozen):
            continue
        lines = [_OFF.sub(lambda found: f"{found[1]}True", line, count=1) for line in source.dedented(frozen)]
        names = reads(source, frozen) - assigned_names(source, frozen)
        if lines == list(source.dedented(frozen)) or not names <= known_at(source, body[0]):
            continue
        what = _what(source, frozen)
        said = ("thaw", (facts.code("what", what),))
        yield job.patch(source, source.insert_before(body[0], *lines), said=said)


def _comes_last(source: Source, body: list[Statement], frozen: Statement) -> bool:
    """Does a loop end with it? Nothing in an iteration then needs it, and what was thawed would be frozen after the
    loop."""
    return frozen is body[-1] and bool(source.loops_around(frozen))


def _iteration_of(source: Source, backward: Statement, freezing: Statement) -> list[Statement] | None:
    """What begins again for each pass: its function, or the loop that also freezes, after it."""
    function = source.function_of(backward)
    if source.function_of(freezing) is not function:
        return source.body(function) if isinstance(function, cst.FunctionDef) else None
    shared = [loop for loop in source.loops_around(backward) if loop in source.loops_around(freezing)]
    return source.body(shared[0]) if shared else None


def freezing(job: Job) -> Iterator[Place]:
    """The statements that switch gradients of parameters off: themselves, or by a function of the program's own."""
    sources = list(job.shop.sources("False|requires_grad"))
    switches = {name for source in sources for name in _switching(source)}
    for source in sources:
        for statement in source.statements:
            if not source.alone(statement):
                continue
            call = only_call(statement)
            code = source.code(statement)
            by_name = call is not None and called_name(source, call) in switches
            loop = isinstance(statement, cst.For) and len(source.body(statement) or ()) == 1
            direct = "requires_grad" in code and (loop or call is not None)
            if "False" in code and (by_name or direct) and not _is_of_a_loop(source, statement):
                yield source, statement


def _switching(source: Source) -> Iterator[str]:
    """The functions that set `requires_grad`."""
    for each in source.statements if "requires_grad" in source.text else ():
        if isinstance(each, cst.FunctionDef) and "requires_grad" in source.code(each):
            yield each.name.value


def _is_of_a_loop(source: Source, statement: Statement) -> bool:
    """Is it the body of a loop over parameters, which is found as a whole?"""
    holder = source.holder(statement)
    return isinstance(holder, cst.For) and source.body(holder) == [statement]


def _what(source: Source, statement: Statement) -> str:
    call = only_call(statement)
    if isinstance(statement, cst.For):
        return source.code(statement.iter).split(".parameters")[0]
    if call is not None and call.args and root(source.code(call.args[0].value)) not in ("False", "True"):
        return source.code(call.args[0].value)
    if call is not None and isinstance(call.func, cst.Attribute):
        return source.code(call.func.value)
    return ""
