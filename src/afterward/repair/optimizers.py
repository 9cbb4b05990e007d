"""What the program gave to an optimizer, as an expression that can be written where a pass is called."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.repair.names import assignment, normal, reads, targets
from afterward.repair.passes import keyword
from afterward.repair.scopes import known_at, own_names
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Job


def held_by(job: Job, source: Source, at: Statement, optimizer: str) -> str:
    """A list of the parameters of an optimizer: as it was made of them, else as it holds them."""
    for other, given in _given(job, optimizer):
        text = other.code(given)
        if other is source and reads(source, given) <= known_at(source, at) and _means_the_same(source, at, given):
            return text if isinstance(given, cst.List) else f"list({text})"
    return f'[p for group in {optimizer}.param_groups for p in group["params"]]'


def made_in(source: Source) -> Iterator[str]:
    """The names to which a file gives what it makes of parameters: `opt` of `opt = SGD(net.parameters())`."""
    for statement in source.statements:
        made = getattr(assignment(statement), "value", None)
        for target in targets(statement) if isinstance(made, cst.Call) and any(_parameters(made)) else ():
            yield source.code(target)


def is_model(source: Source, value: cst.BaseExpression) -> bool:
    """Does the file make an optimizer of this one's parameters?"""
    calls = (
        made for each in source.statements if isinstance(made := getattr(assignment(each), "value", None), cst.Call)
    )
    models = {normal(source.code(model)) for call in calls for model in _parameters(call)}
    return normal(source.code(value)) in models


def _parameters(call: cst.Call) -> Iterator[cst.BaseExpression]:
    """`net` of `SGD(net.parameters())`."""
    for argument in call.args:
        for each in (argument.value, *descendants(argument.value)):
            called = each.func if isinstance(each, cst.Call) else None
            if isinstance(called, cst.Attribute) and called.attr.value in ("parameters", "named_parameters"):
                yield called.value


def _given(job: Job, optimizer: str) -> Iterator[tuple[Source, cst.BaseExpression]]:
    """What the program hands to the constructor of what it calls an optimizer so; nothing where it does so twice."""
    made = [
        (source, call)
        for source in job.shop.sources()
        for statement in source.statements
        if any(normal(source.code(target)) == normal(optimizer) for target in targets(statement))
        and isinstance(call := getattr(assignment(statement), "value", None), cst.Call)
    ]
    for source, call in made if len(made) == 1 else ():
        named = keyword(call, "params")
        first = call.args[0] if call.args and call.args[0].keyword is None and not call.args[0].star else None
        given = named or first
        if given is not None:
            yield source, given.value


def _means_the_same(source: Source, at: Statement, given: cst.BaseExpression) -> bool:
    """Is it an expression that has the same value there: of the same function, of the module, of the same object?"""
    maker, here = source.function_of(given), source.function_of(at)
    shared = isinstance(maker, cst.Module) and not reads(source, given) & own_names(source, here)
    return _is_call(given) and (maker is here or shared or reads(source, given) <= {"self"})


def _is_call(given: cst.BaseExpression) -> bool:
    """`net.parameters()`: a call that can be made again; a generator that has a name is used up."""
    calls = isinstance(given, cst.Call) and isinstance(given.func, cst.Attribute)
    return calls and given.func.attr.value == "parameters"  # type: ignore[attr-defined]
