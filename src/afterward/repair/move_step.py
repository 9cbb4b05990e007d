"""`move_step`: an optimizer steps after the backward that computes its gradients, once for each time they are there."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.model import facts
from afterward.model.facts import Fact
from afterward.model.site import Site
from afterward.repair.names import normal, root
from afterward.repair.optimizers import is_model, made_in
from afterward.repair.passes import only_call, pass_calls
from afterward.repair.scopes import known_at
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Candidates, Job

NEVER = "never"  # the form in which there is no step yet


def candidates(job: Job) -> Candidates:
    """Move the step after a pass of its iteration; where it never steps, let it step for another, or put one in."""
    place = job.at(job.found.freed or job.remedy.site)
    if place is None:
        return
    source, backward = place
    if job.remedy.form == NEVER:
        yield from _instead(job, source, backward)
        yield from _put_in(job, source, backward)
    else:
        yield from _after(job, source, backward)
    yield from swapped(job, source, backward)
    clearing = job.at(job.found.primary.site)  # what is cleared may be of a pass elsewhere, before the step's own
    if clearing is not None and job.remedy.form != NEVER:
        yield from _after(job, *clearing)


def _after(job: Job, source: Source, backward: Statement) -> Candidates:
    """After the first backward that follows the step, else after a later one; then after what comes between it and
    the next clearing: that may clip the gradients or scale them."""
    for step in _steps(source, backward):
        block = source.block_of(step) or []
        later = block[block.index(step) + 1 :] if step in block and source.alone(step) else []
        home = source.in_block(backward, block)
        passes = [each for each in later if pass_calls(each) or each is home]
        editing = [each for one in passes[:1] for each in _until_cleared(later[later.index(one) + 1 :])]
        for each in (*passes, *editing):
            edits = (source.delete(step), source.insert_after(each, *source.dedented(step)))
            lines = source.range(step).start.line, source.range(each).end.line
            yield job.patch(f"move line {lines[0]} after line {lines[1]}", source, *edits)


def _until_cleared(statements: list[Statement]) -> Iterator[Statement]:
    """Calls that may change the gradients of a pass: up to the next pass, step or clearing."""
    for each in statements:
        if pass_calls(each) or _cleared(each) is not None or _stepped(each) is not None:
            return
        if any(isinstance(one, cst.Call) for one in descendants(each)):  # `norm = clip_grad_norm_(...)`
            yield each


def _steps(source: Source, backward: Statement) -> Iterator[Statement]:
    """The statements that are a call of `step()`, in the function of a backward."""
    function = source.function_of(backward)
    return (each for each in source.statements if source.function_of(each) is function and _stepped(each) is not None)


def _stepped(statement: Statement) -> cst.BaseExpression | None:
    """`opt` of `opt.step()`."""
    return receiver(statement, "step")


def receiver(statement: Statement, method: str) -> cst.BaseExpression | None:
    """`opt` of a line that is `opt.method()`."""
    call = only_call(statement)
    called = call.func if call is not None and isinstance(call.func, cst.Attribute) else None
    return called.value if called is not None and called.attr.value == method else None


def _instead(job: Job, source: Source, backward: Statement) -> Candidates:
    """A step is that of another optimizer: of one that steps twice, or the first after the backward."""
    name = _own_name(source, backward, job.remedy.target)
    steps = [(each, other) for each in _steps(source, backward) if (other := _stepped(each)) is not None]
    names = [normal(source.code(other)) for _, other in steps]
    again = [step for place, step in enumerate(steps) if names[place] in names[:place]]
    first = [step for place, step in enumerate(steps) if names[place] in names[place + 1 :]]
    block = source.block_of(backward) or []
    later = block[block.index(backward) + 1 :] if backward in block else []
    after = [step for step in steps if step[0] in later]
    for statement, other in dict.fromkeys((*again, *after[:1], *first)) if name and normal(name) not in names else ():
        line = source.range(statement).start.line
        edit = source.replace(other, name)
        said = _instead_of(source, statement, name)
        yield job.patch(f"`{name}.step()` on line {line}", source, edit, said=said)


def _own_name(source: Source, backward: Statement, name: str) -> str:
    """What the function of a backward calls an optimizer: `self.opt` for `agent.opt`."""
    function = source.function_of(backward)
    cleared = (_cleared(each) for each in source.statements if source.function_of(each) is function)
    own = [source.code(each) for each in cleared if each is not None]
    return next((each for each in own if normal(each).split(".")[-1] == normal(name).split(".")[-1]), name)


def _cleared(statement: Statement) -> cst.BaseExpression | None:
    """`opt` of `opt.zero_grad()`."""
    return receiver(statement, "zero_grad")


def of_the_one_that_waits(job: Job, source: Source, writing: Statement) -> Candidates:
    """An optimizer never steps: this step may be meant for it."""
    step = _stepped(writing)
    if step is None:
        return
    stepped = {normal(source.code(other)) for each in _steps(source, writing) if (other := _stepped(each)) is not None}
    for name in dict.fromkeys(_waiting(source, writing)):
        if normal(name) not in stepped:
            line = source.range(writing).start.line
            edit = source.replace(step, name)
            said = _instead_of(source, writing, name)
            yield job.patch(f"`{name}.step()` on line {line}", source, edit, said=said)


def _waiting(source: Source, writing: Statement) -> Iterator[str]:
    """What may step there: what the function clears, and the optimizers that can be seen from it."""
    function = source.function_of(writing)
    for each in source.statements:
        cleared = _cleared(each) if source.function_of(each) is function else None
        if cleared is not None and not is_model(source, cleared):
            yield source.code(cleared)
    known = known_at(source, writing)
    yield from (name for name in made_in(source) if root(name) in known)


def swapped(job: Job, source: Source, backward: Statement) -> Candidates:
    """Two optimizers step, each for the other. A schedule has steps, too, but nothing to clear."""
    here = (each for each in source.statements if source.function_of(each) is source.function_of(backward))
    known = {*made_in(source), *(source.code(each) for one in here if (each := _cleared(one)) is not None)}
    last = {normal(name).split(".")[-1] for name in known}
    steps = [(each, other) for each in _steps(source, backward) if (other := _stepped(each)) is not None]
    steps = [step for step in steps if normal(source.code(step[1])).split(".")[-1] in last]
    for number, (first, one) in enumerate(steps):
        for second, two in steps[number + 1 :]:
            texts = source.code(one), source.code(two)
            if second in (source.block_of(first) or ()) and normal(texts[0]) != normal(texts[1]):
                lines = source.range(first).start.line, source.range(second).start.line
                edits = (source.replace(one, texts[1]), source.replace(two, texts[0]))
                told = (facts.lines("first", _site(source, first)), facts.lines("second", _site(source, second)))
                summary = f"exchange the steps of lines {lines[0]} and {lines[1]}"
                yield job.patch(summary, source, *edits, said=("exchange", told))


def _instead_of(source: Source, statement: Statement, name: str) -> tuple[str, tuple[Fact, ...]]:
    return "instead", (facts.code("update", f"{name}.step()"), facts.lines("line", _site(source, statement)))


def _site(source: Source, statement: Statement) -> Site:
    where = source.range(statement)
    return Site(source.file, where.start.line, where.end.line)


def _put_in(job: Job, source: Source, backward: Statement) -> Candidates:
    """After the pass, or after the step of another optimizer that follows it."""
    block = source.block_of(backward) or []
    name = job.remedy.target
    if not name or backward not in block:
        return
    places = [backward]
    for statement in block[block.index(backward) + 1 :]:
        if _stepped(statement) is not None:
            places.append(statement)
            break
    for place in places:
        line = source.range(place).end.line
        yield job.patch(f"`{name}.step()` after line {line}", source, source.insert_after(place, f"{name}.step()"))
