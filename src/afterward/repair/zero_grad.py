"""`zero_grad`: each update follows the gradient of its own step."""

from __future__ import annotations

import libcst as cst

from afterward.repair.names import assignment
from afterward.repair.passes import only_call, own_nodes
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job

_NAMED = (cst.Name, cst.Attribute, cst.Subscript)


def candidates(job: Job) -> Candidates:
    place = job.at(job.remedy.site or job.found.freed)
    if place is None:
        return
    source, sweeping = place
    if job.found.name == "gradients-zeroed-early":
        yield from _moved(job, source, sweeping)
        return
    yield from _never_called(job, source, sweeping)
    for name in _optimizers(source, sweeping):
        edit = source.insert_before(sweeping, f"{name}.zero_grad()")
        yield job.patch(f"`{name}.zero_grad()` before line {source.range(sweeping).start.line}", source, edit)
    yield from _each_of_several(job, source, sweeping)
    yield from _by_hand(job, source, sweeping)


def _moved(job: Job, source: Source, zeroing: Statement) -> Candidates:
    """The call stands between the backward and the step: it goes in front of the backward, or behind the step."""
    block = source.block_of(zeroing) or []
    if only_call(zeroing) is None or not source.alone(zeroing):
        return
    line = source.range(zeroing).start.line
    swept = job.at(job.found.freed)
    before = source.in_block(swept[1], block) if swept is not None and swept[0] is source else None
    if before is not None and block.index(before) < block.index(zeroing):
        edits = (source.delete(zeroing), source.insert_before(before, *source.dedented(zeroing)))
        yield job.patch(f"move line {line} before line {source.range(before).start.line}", source, *edits)
    for label in job.found.secondary:
        step = job.at(label.site)
        after = source.in_block(step[1], block) if step is not None and step[0] is source else None
        if after is not None and block.index(after) > block.index(zeroing):
            edits = (source.delete(zeroing), source.insert_after(after, *source.dedented(zeroing)))
            yield job.patch(f"move line {line} behind line {source.range(after).start.line}", source, *edits)


def _each_of_several(job: Job, source: Source, sweeping: Statement) -> Candidates:
    """`for o in opts: o.step()` calls for `for o in opts: o.zero_grad()`."""
    for statement in _around(source, sweeping):
        if not isinstance(statement, cst.For) or not isinstance(statement.target, cst.Name):
            continue
        name, several = statement.target.value, source.code(statement.iter)
        if f"{name}.step(" in source.code(statement) and "\n" not in several:
            lines = (f"for {name} in {several}:", f"{source.unit(sweeping)}{name}.zero_grad()")
            line = source.range(sweeping).start.line
            yield job.patch(f"zero each of them before line {line}", source, source.insert_before(sweeping, *lines))


def _never_called(job: Job, source: Source, sweeping: Statement) -> Candidates:
    """`opt.zero_grad` without parentheses does nothing."""
    for statement in _around(source, sweeping):
        if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
            continue
        only = statement.body[0]
        if (
            isinstance(only, cst.Expr)
            and isinstance(only.value, cst.Attribute)
            and only.value.attr.value == "zero_grad"
        ):
            text = source.code(only.value)
            line = source.range(statement).start.line
            yield job.patch(f"call `{text}()` on line {line}", source, source.replace(only.value, f"{text}()"))


def _around(source: Source, statement: Statement) -> list[Statement]:
    """The statements of the function that a statement is in."""
    function = source.function_of(statement)
    found: list[Statement] = []
    todo = list(function.body if isinstance(function, cst.Module) else getattr(function.body, "body", ()))
    while todo:
        each = todo.pop(0)
        if isinstance(each, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            found.append(each)
        inner = getattr(each, "body", None)
        if isinstance(inner, cst.IndentedBlock) and not isinstance(each, (cst.FunctionDef, cst.ClassDef)):
            todo = [*inner.body, *todo]
    return found


def _optimizers(source: Source, sweeping: Statement) -> list[str]:
    """Whatever is stepped in the function that sweeps."""
    found = []
    for statement in _around(source, sweeping):
        for node in own_nodes(statement):
            if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "step":
                found += [source.code(node.func.value)] if isinstance(node.func.value, _NAMED) else []
    zeroed = [
        source.code(node.func.value)
        for statement in _around(source, sweeping)
        for node in own_nodes(statement)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "zero_grad"
    ]
    turns = {
        s.target.value for s in _around(source, sweeping) if isinstance(s, cst.For) and isinstance(s.target, cst.Name)
    }
    names = [name for name in dict.fromkeys(found) if name.split(".")[-1] != "scaler" and name not in turns]
    return [name for name in names if name not in zeroed] + [name for name in names if name in zeroed]


def _by_hand(job: Job, source: Source, sweeping: Statement) -> Candidates:
    """A parameter that is changed by hand: `.grad` is emptied once it was used."""
    for statement in _around(source, sweeping):
        if assignment(statement) is None and not isinstance(statement, cst.SimpleStatementLine):
            continue
        grads = [
            source.code(node)
            for node in own_nodes(statement)
            if isinstance(node, cst.Attribute) and node.attr.value == "grad" and isinstance(node.value, _NAMED)
        ]
        if (
            grads
            and source.alone(statement)
            and source.range(statement).start.line != source.range(sweeping).start.line
        ):
            line = source.range(statement).start.line
            edit = source.insert_after(statement, *(f"{name} = None" for name in dict.fromkeys(grads)))
            yield job.patch(f"empty `{grads[0]}` after line {line}", source, edit)
