"""`item_for_logging`: keep a number of a loss, not the tensor with its graph."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from afterward.repair import number_at_source
from afterward.repair.names import assignment, is_read, named, normal, wrapped
from afterward.repair.passes import called_name, only_call, own_nodes
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """`.item()` where a number will do, `.detach()` where the tensor itself is used later on."""
    sites = dict.fromkeys((job.remedy.site, job.found.built, *reversed(job.found.ways.built)))
    tensors = job.remedy.form == "tensor" or job.remedy.kind == "detach_value" or _is_joined(job)
    for way in ("detach", "item") if tensors else ("item", "detach"):
        for source, statement in job.places(sites):
            for value in _stored(source, statement):
                if job.shop.tries:
                    yield from number_at_source.candidates(job, source, statement, value, way)
                name = wrapped(source, value)
                if job.remedy.form == "row" and any(value is one for one in _added(statement)):
                    if way == "detach":
                        each = 'one.detach() if hasattr(one, "detach") else one'
                        text = f"{{key: {each} for key, one in {name}.items()}}"
                        yield job.patch(source, source.replace(value, text))
                    continue
                error = yield job.patch(source, source.replace(value, f"{name}.{way}()"))
                if re.search(r"'(float|int|str|bool)' object has no attribute", error or ""):  # a log of many kinds
                    if any(isinstance(one, cst.Call) for one in (value, *descendants(value))):
                        continue  # what it calls would be called three times
                    text = f'{name}.{way}() if hasattr({name}, "{way}") else {name}'
                    argument = isinstance(source.parent(value), (cst.Arg, cst.Element, cst.DictElement))
                    yield job.patch(source, source.replace(value, text if argument else f"({text})"))
    for home, statement in job.places(sites):
        function = home.function_of(statement)
        if isinstance(function, cst.FunctionDef):
            for source in dict.fromkeys((home, *job.shop.sources())):
                yield from _by_the_caller(job, source, function)


_JOINING = frozenset({"stack", "cat", "concat", "concatenate", "vstack", "hstack"})


def _added(statement: Statement) -> list[cst.BaseExpression]:
    """`x` of `log.append(x)`, where that is the whole statement."""
    call = only_call(statement)
    return [argument.value for argument in call.args] if call is not None else []


def _is_joined(job: Job) -> bool:
    """Does the program join what the record holds, as only tensors can be: `torch.stack(self.outputs)`?"""
    return any(
        called_name(source, call) in _JOINING and any(True for _ in named(source, call, job.name))
        for source in job.shop.sources()
        for statement in (source.statements if job.name else ())
        for call in own_nodes(statement)
        if isinstance(call, cst.Call)
    )


def _by_the_caller(job: Job, source: Source, function: cst.FunctionDef) -> Candidates:
    """What a method stores may be an object that its caller made: `replay.push(Turn(state, values.detach()))`."""
    for caller in source.statements:
        calls = [node for node in own_nodes(caller) if isinstance(node, cst.Call)]
        named_so = any(called_name(source, call) == function.name.value for call in calls)
        if source.function_of(caller) is function or not named_so:
            continue
        for value in _inner(source, calls):
            if isinstance(value, (cst.Name, cst.Attribute, cst.Subscript)):
                yield job.patch(source, source.replace(value, f"{wrapped(source, value)}.detach()"))


def _stored(source: Source, statement: Statement) -> Iterator[cst.BaseExpression]:
    """What a statement puts into a record: the value added, appended, or put under a key."""
    made = assignment(statement)
    if isinstance(made, (cst.Assign, cst.AugAssign)):
        value = _new_part(source, made)
        value = value.elt if isinstance(value, cst.ListComp) else value
        several = isinstance(value, (cst.Dict, cst.Tuple, cst.List))  # `log += [loss]`: what is in it
        yield from _inner(source, (value, *descendants(value))) if several else (value,)
    elif isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], (cst.Expr, cst.Return)):
        yield from _inner(source, own_nodes(statement))


def _new_part(source: Source, made: cst.Assign | cst.AugAssign) -> cst.BaseExpression:
    """`x` of `log = log + x`, and of `log += x`."""
    value = made.value
    if isinstance(made, cst.AugAssign) or not isinstance(value, cst.BinaryOperation):
        return value
    target = normal(source.code(made.targets[0].target))
    sides = [side for side in (value.left, value.right) if normal(source.code(side)) != target]
    return sides[0] if len(sides) == 1 and isinstance(value.operator, cst.Add) else value


def _inner(source: Source, nodes: Iterable[cst.CSTNode]) -> Iterator[cst.BaseExpression]:
    plain = (cst.Name, cst.Attribute, cst.Subscript, cst.BinaryOperation, cst.Call)
    for node in nodes:
        if isinstance(node, cst.Call):
            for argument in node.args:
                if isinstance(argument.value, plain) and not argument.star:
                    yield argument.value
        elif isinstance(node, (cst.Element, cst.DictElement)) and isinstance(node.value, plain):
            yield from (node.value,) if is_read(source, node.value) else ()
