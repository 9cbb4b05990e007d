"""`zero_grad`: each update follows the gradient of its own step."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.repair.names import assignment, normal, root
from afterward.repair.optimizers import made_in
from afterward.repair.passes import is_step, method_of, only_call, only_value, own_nodes, receiver, runs_pass
from afterward.repair.scopes import known_at
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Candidates, Job

EARLIER = "earlier"  # the form in which the call is there, in the wrong place
_NAMED = (cst.Name, cst.Attribute, cst.Subscript)


def candidates(job: Job) -> Candidates:
    """Move a call that stands in the wrong place; else put one in where the passes of a step begin."""
    if job.remedy.form == EARLIER:
        place = job.at(job.remedy.site or job.found.freed)
        yield from _moved(job, *place) if place is not None else ()
        return
    for number, (source, backward) in enumerate(job.way_to(job.remedy.site or job.found.freed)):
        if not number or any(_stepped(source, _around(source, backward))):  # where the optimizer steps
            yield from _put_in(job, source, backward)


def _put_in(job: Job, source: Source, backward: Statement) -> Candidates:
    yield from _never_called(job, source, backward)
    for name in _optimizers(source, backward):
        yield from _before_its_passes(job, source, backward, name)
        edit = source.insert_before(backward, f"{name}.zero_grad()")
        yield job.patch(source, edit)
        yield from _after_its_steps(job, source, backward, name)
    yield from _with_the_others(job, source, backward)
    yield from _each_of_several(job, source, backward)
    yield from _by_hand(job, source, backward)


def _with_the_others(job: Job, source: Source, backward: Statement) -> Candidates:
    """A function that clears all others, and nothing else, clears it too: `def reset(): a.zero_grad()`."""
    for function in (each for each in source.statements if isinstance(each, cst.FunctionDef)):
        body = source.body(function) or []
        clears = [each for each in body if receiver(each, "zero_grad") is not None]
        for name in _optimizers(source, backward) if body and len(clears) == len(body) else ():
            edit = source.insert_after(body[-1], f"{name}.zero_grad()")
            yield job.patch(source, edit)


def _before_its_passes(job: Job, source: Source, backward: Statement, name: str) -> Candidates:
    """Before the first of the passes that lead up to a step: those after the step of any other optimizer."""
    for step in _steps_of(source, backward, name):
        first = first_pass_before(job, source, step)
        if first is None:
            continue
        zeroing = _zeroing(source, backward, name)
        edits = [source.delete(each) for each in zeroing if source.alone(each) and _in_loop_with(source, each, first)]
        edits.append(source.insert_before(first, f"{name}.zero_grad()"))
        yield job.patch(source, *edits)


def _after_its_steps(job: Job, source: Source, backward: Statement, name: str) -> Candidates:
    """`if (i + 1) % 4 == 0: opt.step()`: what was added up over several passes is cleared where it was used."""
    block = source.block_of(backward) or []
    for step in _steps_of(source, backward, name):
        if step not in block and source.alone(step):
            edit = source.insert_after(step, f"{name}.zero_grad()")
            yield job.patch(source, edit)


def first_pass_before(job: Job, source: Source, step: Statement) -> Statement | None:
    """The first statement, in the block of a step, of the passes that lead up to it."""
    sources = list(job.shop.sources())
    found: Statement | None = None
    for statement in reversed(source.before(step)):
        if any(method_of(node) == "step" for node in descendants(statement)):
            if found is not None:
                break
            continue
        if any(runs_pass(sources, each) for each in (statement, *_statements_in(statement))):
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
    cleared = ((each, receiver(each, "zero_grad")) for each in _around(source, backward))
    return [each for each, one in cleared if one is not None and normal(source.code(one)) == normal(name)]


def _statements_in(statement: Statement) -> list[Statement]:
    """The statements of the body of a compound statement, and of their bodies."""
    body = getattr(statement, "body", None)
    if isinstance(statement, cst.SimpleStatementLine) or not isinstance(body, cst.IndentedBlock):
        return []
    inner = [each for each in body.body if isinstance(each, (cst.SimpleStatementLine, cst.BaseCompoundStatement))]
    return [one for each in inner for one in (each, *_statements_in(each))]


def _moved(job: Job, source: Source, zeroing: Statement) -> Candidates:
    """The call stands between the backward and the step: it goes in front of the backward, or behind the step."""
    if only_call(zeroing) is None or not source.alone(zeroing):
        return
    lines = source.dedented(zeroing)
    for place in _earlier_places(job, source, zeroing):
        moved = () if _is_cleared_before(source, place, zeroing) else (source.insert_before(place, *lines),)
        edits = (source.delete(zeroing), *moved)
        yield job.patch(source, *edits)
    block = source.block_of(zeroing) or []
    for step in _later_steps(job, source, zeroing):
        if step not in block and source.alone(step):  # `if (i + 1) % 4 == 0: opt.step()`
            yield job.patch(source, *source.moved_after(zeroing, step))
        after = source.in_block(step, source.after(zeroing))
        if after is not None:
            yield job.patch(source, *source.moved_after(zeroing, after))


def _is_cleared_before(source: Source, place: Statement, zeroing: Statement) -> bool:
    """Does the same call stand in front of a place already?"""
    before = next(reversed(source.before(place)), None)
    return before is not None and before is not zeroing and source.code(before).strip() == source.code(zeroing).strip()


def _earlier_places(job: Job, source: Source, zeroing: Statement) -> Iterator[Statement]:
    """Before the pass, in its block; before the first of all passes that lead up to the step; before their loop."""
    freeing = job.at(job.found.freed)
    before = source.in_block(freeing[1], source.before(zeroing)) if freeing is not None else None
    if before is not None:
        yield before
    for step in _later_steps(job, source, zeroing):
        first = first_pass_before(job, source, step)
        if first is not None and first is not zeroing:
            yield first


def _later_steps(job: Job, source: Source, zeroing: Statement) -> list[Statement]:
    """The steps of the optimizer that the call belongs to; of all where it is a module's."""
    owner = receiver(zeroing, method_of(only_call(zeroing)))
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
            yield job.patch(source, source.insert_before(backward, *lines))


def _never_called(job: Job, source: Source, backward: Statement) -> Candidates:
    """`opt.zero_grad` without parentheses does nothing."""
    for statement in _around(source, backward):
        method = only_value(statement)
        if isinstance(method, cst.Attribute) and method.attr.value == "zero_grad":
            yield job.patch(source, source.replace(method, f"{source.code(method)}()"))


def _around(source: Source, statement: Statement) -> list[Statement]:
    """The statements of the function that a statement is in."""
    return source.within(source.function_of(statement))


def _optimizers(source: Source, backward: Statement) -> list[str]:
    """Whatever is stepped in the function that uses; where nothing is (a closure), what it knows of the others."""
    found = list(_stepped(source, _around(source, backward)))
    known = known_at(source, backward) if not found else set()
    found += [name for name in _stepped(source, source.statements) if root(name) in known]
    zeroed = [
        source.code(node.func.value)
        for statement in _around(source, backward)
        for node in own_nodes(statement)
        if method_of(node) == "zero_grad" and isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
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
        if grads and source.alone(statement) and source.line(statement) != source.line(backward):
            edit = source.insert_after(statement, *(f"{name} = None" for name in dict.fromkeys(grads)))
            yield job.patch(source, edit)
