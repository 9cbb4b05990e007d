"""`zero_grad`: each update follows the gradient of its own step."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.repair.names import assignment, normal, root
from afterward.repair.optimizers import made_in
from afterward.repair.passes import is_step, only_call, own_nodes, pass_calls
from afterward.repair.scopes import known_at
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job

EARLIER = "earlier"  # the form in which the call is there, in the wrong place
_NAMED = (cst.Name, cst.Attribute, cst.Subscript)


def candidates(job: Job) -> Candidates:
    """Move a call that stands in the wrong place; else put one in where the passes of a step begin."""
    place = job.at(job.remedy.site or job.found.freed)
    if place is None:
        return
    source, backward = place
    if job.remedy.form == EARLIER:
        yield from _moved(job, source, backward)
        return
    yield from _never_called(job, source, backward)
    for name in _optimizers(source, backward):
        yield from _before_its_passes(job, source, backward, name)
        edit = source.insert_before(backward, f"{name}.zero_grad()")
        yield job.patch(f"`{name}.zero_grad()` before line {source.range(backward).start.line}", source, edit)
        yield from _after_its_steps(job, source, backward, name)
    yield from _with_the_others(job, source, backward)
    yield from _each_of_several(job, source, backward)
    yield from _by_hand(job, source, backward)


def _with_the_others(job: Job, source: Source, backward: Statement) -> Candidates:
    """A function that clears all others, and nothing else, clears it too: `def reset(): a.zero_grad()`."""
    for function in (each for each in source.statements if isinstance(each, cst.FunctionDef)):
        body = source.body(function) or []
        clears = [call for each in body if (call := only_call(each)) is not None and _is_clear(call)]
        for name in _optimizers(source, backward) if body and len(clears) == len(body) else ():
            edit = source.insert_after(body[-1], f"{name}.zero_grad()")
            yield job.patch(f"`{name}.zero_grad()` in `{function.name.value}`", source, edit)


def _is_clear(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "zero_grad"


def _before_its_passes(job: Job, source: Source, backward: Statement, name: str) -> Candidates:
    """Before the first of the passes that lead up to a step: those after the step of any other optimizer."""
    for step in _steps_of(source, backward, name):
        first = first_pass_before(source, step)
        if first is None:
            continue
        line = source.range(first).start.line
        zeroing = _zeroing(source, backward, name)
        edits = [source.delete(each) for each in zeroing if source.alone(each) and _in_loop_with(source, each, first)]
        edits.append(source.insert_before(first, f"{name}.zero_grad()"))
        yield job.patch(f"`{name}.zero_grad()` before line {line}", source, *edits)


def _after_its_steps(job: Job, source: Source, backward: Statement, name: str) -> Candidates:
    """`if (i + 1) % 4 == 0: opt.step()`: what was added up over several passes is cleared where it was used."""
    block = source.block_of(backward) or []
    for step in _steps_of(source, backward, name):
        if step not in block and source.alone(step):
            edit = source.insert_after(step, f"{name}.zero_grad()")
            yield job.patch(f"`{name}.zero_grad()` after line {source.range(step).end.line}", source, edit)


def first_pass_before(source: Source, step: Statement) -> Statement | None:
    """The first statement, in the block of a step, of the passes that lead up to it."""
    block = source.block_of(step) or []
    found: Statement | None = None
    for statement in reversed(block[: block.index(step)] if step in block else []):
        if _calls_within(source, statement, "step"):
            if found is not None:
                break
            continue
        if any(pass_calls(each) for each in (statement, *_statements_in(statement))):
            found = statement
    return found


def _in_loop_with(source: Source, zeroing: Statement, first: Statement) -> bool:
    """Does a call clear, inside of the loop of the passes, what they are to add up?"""
    return zeroing in _statements_in(first)


def _steps_of(source: Source, backward: Statement, name: str) -> list[Statement]:
    wanted = normal(name)
    around = _around(source, backward)
    return [each for each in around if any(normal(one) == wanted for one in _stepped(source, [each]))]


def _zeroing(source: Source, backward: Statement, name: str) -> list[Statement]:
    wanted = normal(f"{name}.zero_grad")
    found = []
    for statement in _around(source, backward):
        call = only_call(statement)
        if call is not None and normal(source.code(call.func)) == wanted:
            found.append(statement)
    return found


def _calls_within(source: Source, statement: Statement, method: str) -> bool:
    return any(
        isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == method
        for each in (statement, *_statements_in(statement))
        for node in own_nodes(each)
    )


def _statements_in(statement: Statement) -> list[Statement]:
    """The statements of the body of a compound statement, and of their bodies."""
    body = getattr(statement, "body", None)
    if isinstance(statement, cst.SimpleStatementLine) or not isinstance(body, cst.IndentedBlock):
        return []
    inner = [each for each in body.body if isinstance(each, (cst.SimpleStatementLine, cst.BaseCompoundStatement))]
    return [one for each in inner for one in (each, *_statements_in(each))]


def _moved(job: Job, source: Source, zeroing: Statement) -> Candidates:
    """The call stands between the backward and the step: it goes in front of the backward, or behind the step."""
    call = only_call(zeroing)
    if call is None or not source.alone(zeroing):
        return
    line = source.range(zeroing).start.line
    lines = source.dedented(zeroing)
    for place in _earlier_places(job, source, zeroing):
        moved = () if _is_cleared_before(source, place, zeroing) else (source.insert_before(place, *lines),)
        edits = (source.delete(zeroing), *moved)
        yield job.patch(f"move line {line} before line {source.range(place).start.line}", source, *edits)
    block = source.block_of(zeroing) or []
    for step in _later_steps(job, source, zeroing):
        if step not in block and source.alone(step):  # `if (i + 1) % 4 == 0: opt.step()`
            edits = (source.delete(zeroing), source.insert_after(step, *lines))
            yield job.patch(f"move line {line} after line {source.range(step).start.line}", source, *edits)
        after = source.in_block(step, block)
        if after is not None and block.index(after) > block.index(zeroing):
            edits = (source.delete(zeroing), source.insert_after(after, *lines))
            yield job.patch(f"move line {line} after line {source.range(after).start.line}", source, *edits)


def _is_cleared_before(source: Source, place: Statement, zeroing: Statement) -> bool:
    """Does the same call stand in front of a place already?"""
    block = source.block_of(place) or []
    before = block[block.index(place) - 1] if place in block[1:] else None
    return before is not None and before is not zeroing and source.code(before).strip() == source.code(zeroing).strip()


def _earlier_places(job: Job, source: Source, zeroing: Statement) -> Iterator[Statement]:
    """Before the pass, in its block; before the first of all passes that lead up to the step; before their loop."""
    block = source.block_of(zeroing) or []
    freeing = job.at(job.found.freed)
    before = source.in_block(freeing[1], block) if freeing is not None and freeing[0] is source else None
    if before is not None and block.index(before) < block.index(zeroing):
        yield before
    for step in _later_steps(job, source, zeroing):
        first = first_pass_before(source, step)
        if first is not None and first is not zeroing:
            yield first


def _later_steps(job: Job, source: Source, zeroing: Statement) -> list[Statement]:
    """The steps of the optimizer that the call belongs to; of all where it is a module's."""
    call = only_call(zeroing)
    owner = call.func.value if call is not None and isinstance(call.func, cst.Attribute) else None
    own = _steps_of(source, zeroing, source.code(owner)) if owner is not None else []
    return own or [each for each in _around(source, zeroing) if is_step(each)]


def _each_of_several(job: Job, source: Source, backward: Statement) -> Candidates:
    """`for o in opts: o.step()` calls for `for o in opts: o.zero_grad()`."""
    for statement in _around(source, backward):
        if not isinstance(statement, cst.For) or not isinstance(statement.target, cst.Name):
            continue
        name, several = statement.target.value, source.code(statement.iter)
        if f"{name}.step(" in source.code(statement) and "\n" not in several:
            lines = (f"for {name} in {several}:", f"{source.unit(backward)}{name}.zero_grad()")
            line = source.range(backward).start.line
            yield job.patch(f"zero each of them before line {line}", source, source.insert_before(backward, *lines))


def _never_called(job: Job, source: Source, backward: Statement) -> Candidates:
    """`opt.zero_grad` without parentheses does nothing."""
    for statement in _around(source, backward):
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


def _optimizers(source: Source, backward: Statement) -> list[str]:
    """Whatever is stepped in the function that uses; where nothing is (a closure), what it knows of the others."""
    found = list(_stepped(source, _around(source, backward)))
    known = known_at(source, backward) if not found else set()
    found += [name for name in _stepped(source, source.statements) if root(name) in known]
    zeroed = [
        source.code(node.func.value)
        for statement in _around(source, backward)
        for node in own_nodes(statement)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "zero_grad"
    ]
    iterations = {
        s.target.value for s in _around(source, backward) if isinstance(s, cst.For) and isinstance(s.target, cst.Name)
    }
    names = [name for name in dict.fromkeys(found) if name.split(".")[-1] != "scaler" and name not in iterations]
    return [name for name in names if name not in zeroed] + [name for name in names if name in zeroed]


def _stepped(source: Source, statements: list[Statement]) -> Iterator[str]:
    """`opt` of `opt.step()`, and of `scaler.step(opt)`."""
    for statement in statements:
        for node in own_nodes(statement):
            called = node.func if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
            if not isinstance(node, cst.Call) or called is None or called.attr.value != "step":
                continue
            handed = (argument.value for argument in node.args if source.code(argument.value) in made_in(source))
            yield from (source.code(each) for each in (called.value, *handed) if isinstance(each, _NAMED))


def _by_hand(job: Job, source: Source, backward: Statement) -> Candidates:
    """A parameter that is changed by hand: `.grad` is emptied once it was used."""
    for statement in _around(source, backward):
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
            and source.range(statement).start.line != source.range(backward).start.line
        ):
            line = source.range(statement).start.line
            edit = source.insert_after(statement, *(f"{name} = None" for name in dict.fromkeys(grads)))
            yield job.patch(f"empty `{grads[0]}` after line {line}", source, edit)
