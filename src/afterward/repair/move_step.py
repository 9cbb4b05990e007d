"""`move_step`: an optimizer steps after the backward that computes its gradients, once for each time they are there."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.model import facts
from afterward.model.facts import Fact
from afterward.repair.names import normal, root
from afterward.repair.optimizers import is_model, made_in
from afterward.repair.passes import is_step, pass_calls, receiver
from afterward.repair.scopes import known_at
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Candidates, Job

NEVER = "never"  # the form in which there is no step yet


def candidates(job: Job) -> Candidates:
    """Move the step after a pass of its iteration; where it never steps, let it step for another, or put one in."""
    for source, backward in job.way_to(job.found.freed or job.remedy.site):
        if job.remedy.form == NEVER:
            yield from _instead(job, source, backward)
        else:
            yield from _after(job, source, backward)
        yield from swapped(job, source, backward)
    for source, backward in job.way_to(job.found.freed or job.remedy.site) if job.remedy.form == NEVER else ():
        yield from _put_in(job, source, backward)
    clearing = job.at(job.found.primary.site)  # what is cleared may be of a pass elsewhere, before the step's own
    if clearing is not None and job.remedy.form != NEVER:
        yield from _after(job, *clearing)


def _after(job: Job, source: Source, backward: Statement) -> Candidates:
    """After the first backward that follows the step, else after a later one; then after what comes between it and
    the next clearing: that may clip the gradients or scale them."""
    for step in _steps(source, backward):
        later = source.after(step) if source.alone(step) else []
        home = source.in_block(backward, later)
        passes = [each for each in later if pass_calls(each) or each is home]
        editing = [each for one in passes[:1] for each in _until_cleared(later[later.index(one) + 1 :])]
        for each in (*passes, *editing):
            edits = (source.delete(step), source.insert_after(each, *source.dedented(step)))
            yield job.patch(source, *edits)


def _until_cleared(statements: list[Statement]) -> Iterator[Statement]:
    """Calls that may change the gradients of a pass: up to the next pass, step or clearing."""
    for each in statements:
        if pass_calls(each) or _cleared(each) is not None or _stepped(each) is not None:
            return
        if any(isinstance(one, cst.Call) for one in descendants(each)):  # `norm = clip_grad_norm_(...)`
            yield each


def _steps(source: Source, backward: Statement) -> Iterator[Statement]:
    """The statements that are a call of `step()`, in the function of a backward."""
    return (each for each in source.within(source.function_of(backward)) if is_step(each))


def _stepped(statement: Statement) -> cst.BaseExpression | None:
    """`opt` of `opt.step()`."""
    return receiver(statement, "step")


def _instead(job: Job, source: Source, backward: Statement) -> Candidates:
    """A step is that of another optimizer: of one that steps twice, or the first after the backward."""
    name = _own_name(source, backward, job.remedy.target)
    steps = [(each, other) for each in _steps(source, backward) if (other := _stepped(each)) is not None]
    names = [normal(source.code(other)) for _, other in steps]
    again = [step for place, step in enumerate(steps) if names[place] in names[:place]]
    first = [step for place, step in enumerate(steps) if names[place] in names[place + 1 :]]
    later = source.after(backward)
    after = [step for step in steps if step[0] in later]
    for statement, other in dict.fromkeys((*again, *after[:1], *first)) if name and normal(name) not in names else ():
        edit = source.replace(other, name)
        said = _instead_of(source, statement, name)
        yield job.patch(source, edit, said=said)


def _own_name(source: Source, backward: Statement, name: str) -> str:
    """What the function of a backward calls an optimizer: `self.opt` for `agent.opt`."""
    cleared = map(_cleared, source.within(source.function_of(backward)))
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
            edit = source.replace(step, name)
            said = _instead_of(source, writing, name)
            yield job.patch(source, edit, said=said)


def _waiting(source: Source, writing: Statement) -> Iterator[str]:
    """What may step there: what the function clears, and the optimizers that can be seen from it."""
    for cleared in map(_cleared, source.within(source.function_of(writing))):
        if cleared is not None and not is_model(source, cleared):
            yield source.code(cleared)
    known = known_at(source, writing)
    yield from (name for name in made_in(source) if root(name) in known)


def swapped(job: Job, source: Source, backward: Statement) -> Candidates:
    """Two optimizers step, each for the other. A schedule has steps, too, but nothing to clear."""
    here = source.within(source.function_of(backward))
    known = {*made_in(source), *(source.code(each) for one in here if (each := _cleared(one)) is not None)}
    last = {normal(name).split(".")[-1] for name in known}
    steps = [(each, other) for each in _steps(source, backward) if (other := _stepped(each)) is not None]
    steps = [step for step in steps if normal(source.code(step[1])).split(".")[-1] in last]
    for number, (first, one) in enumerate(steps):
        for second, two in steps[number + 1 :]:
            texts = source.code(one), source.code(two)
            if second in (source.block_of(first) or ()) and normal(texts[0]) != normal(texts[1]):
                edits = (source.replace(one, texts[1]), source.replace(two, texts[0]))
                told = (facts.lines("first", source.site(first)), facts.lines("second", source.site(second)))
                yield job.patch(source, *edits, said=("exchange", told))


def _instead_of(source: Source, statement: Statement, name: str) -> tuple[str, tuple[Fact, ...]]:
    return "instead", (facts.code("update", f"{name}.step()"), facts.lines("line", source.site(statement)))


def _put_in(job: Job, source: Source, backward: Statement) -> Candidates:
    """After the pass, or after the step of another optimizer that follows it."""
    name = job.remedy.target
    if not name or source.block_of(backward) is None:
        return
    others = [each for each in source.after(backward) if is_step(each)]
    for place in (backward, *others[:1]):
        yield job.patch(source, source.insert_after(place, f"{name}.step()"))
