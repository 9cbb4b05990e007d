"""`detach_state`: cut what is carried from step to step, at the step's boundary."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.model.site import Site
from afterward.repair.detaching import detached, likely_shape, shape_in
from afterward.repair.edits import Patch
from afterward.repair.names import assignment, named, normal, root, stem, targets, wrapped
from afterward.repair.passes import only_call
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """A cut that does nothing; where the step reads it; where the step begins; before it is read; where it is stored."""
    yield from _made_to_count(job)
    yield from _where_it_is_read(job)
    for source, statement, name in _places(job):
        yield from _shapes(job, source, statement, name)
    yield from _where_it_is_stored(job)


def _made_to_count(job: Job) -> Candidates:
    """`h.detach()` as a statement drops its result; `h.detach_()` cuts `h` itself."""
    for file in job.shop.texts:
        if ".detach()" not in job.shop.texts[file]:
            continue
        source = job.shop.source(Site(file, 1, 1))
        for statement, call in _dropped(source) if source is not None else ():
            assert source is not None
            line = source.range(statement).start.line
            edit = source.replace(call.func, f"{source.code(call.func)}_")
            yield job.patch(f"`detach_()` on line {line}, where `detach()` dropped its result", source, edit)


def _dropped(source: Source) -> Iterator[tuple[Statement, cst.Call]]:
    for statement in source.statements:
        call = only_call(statement)
        if call is None or call.args or not isinstance(call.func, cst.Attribute):
            continue
        if call.func.attr.value == "detach":
            yield statement, call


def _where_it_is_read(job: Job) -> Candidates:
    """`cell(x, hidden)` becomes `cell(x, hidden.detach())`, if the step reads it there, and once."""
    site = job.found.bridge.site if job.found.bridge is not None else None
    source = job.shop.source(site)
    if source is None or site is None:
        return
    node, loop = source.expression_at(site), source.loop_at(job.found.ways.loop)
    if node is None or loop is None or source.loops_around(node)[:1] != [loop]:
        return
    name = source.code(node)
    statement = source.statement_of(node)
    if statement is None or not _is_argument(source, node) or len(_reads_in_loop(source, loop, name)) != 1:
        return
    shape: str | None = "tensor"
    tried: set[str] = set()
    while shape is not None and shape not in tried and shape != "none":
        tried.add(shape)
        edit = source.replace(node, detached(name, shape))
        error = yield job.patch(f"detach `{name}` on line {site.line}", source, edit)
        shape = shape_in(error)


def _is_argument(source: Source, node: cst.CSTNode) -> bool:
    return isinstance(source.parent(node), cst.Arg)


def _reads_in_loop(source: Source, loop: cst.CSTNode, name: str) -> list[cst.BaseExpression]:
    """Reads of the state in the loop before it is renewed there: those see the value of the step before."""
    body = source.body(loop) or []
    found: list[cst.BaseExpression] = []
    for statement in body:
        found += named(source, statement, name)
        if any(normal(source.code(target)) == normal(name) for target in targets(statement)):
            break
    return found


def _places(job: Job) -> Iterator[tuple[Source, Statement, str]]:
    """(file, statement to come before, name there), best first."""
    whole = stem(job.name)
    loop_source = job.shop.source(job.found.ways.loop)
    loop = loop_source.loop_at(job.found.ways.loop) if loop_source is not None else None
    body = loop_source.body(loop) if loop_source is not None and loop is not None else None
    if loop_source is not None and loop is not None and body:
        for name in _names_from_loop(job, loop_source, loop, whole):
            yield loop_source, body[0], name
    read = job.found.bridge.site if job.found.bridge is not None else None
    place = job.at(read)
    if place is not None and whole:
        yield *place, whole


def _names_from_loop(job: Job, source: Source, loop: cst.CSTNode, whole: str) -> Iterator[str]:
    """What the function of the loop calls the state: its own name for it, or the way through the calls it makes."""
    if not whole:
        return
    read = job.found.bridge.site if job.found.bridge is not None else None
    reader = job.at(read)
    here = source.function_of(loop)
    if reader is None or (reader[0] is source and source.function_of(reader[1]) is here):
        yield whole
        return
    if root(whole) == "self":
        yield from _through_calls(job, source, here, whole)
    elif isinstance(here, cst.Module) or reader[0] is not source:
        return


def _through_calls(job: Job, source: Source, here: cst.CSTNode, whole: str) -> Iterator[str]:
    """`self.state` of a method is `net.state` where `net(x)` or `net.forward(x)` is called."""
    levels = [job.at(site) for site in job.found.ways.built]
    start = next(
        (i for i, at in enumerate(levels) if at is not None and at[0] is source and source.function_of(at[1]) is here),
        None,
    )
    if start is None:
        return
    owners = [""]
    for at in levels[start:-1]:
        if at is None:
            return
        found = []
        for call in _calls(at[1]):
            receiver = call.func.value if isinstance(call.func, cst.Attribute) else call.func
            if isinstance(receiver, (cst.Name, cst.Attribute, cst.Subscript)):
                text = at[0].code(receiver)
                found += [text if not o else o + text[4:] for o in owners if not o or text.startswith("self.")]
        owners = list(dict.fromkeys(found))[:4]
    for owner in owners:
        if owner:
            yield owner + whole[4:]


def _calls(statement: cst.CSTNode) -> Iterator[cst.Call]:
    body = getattr(statement, "body", None) if isinstance(statement, cst.BaseCompoundStatement) else None
    inside = set(descendants(body)) if body is not None else set()
    for each in descendants(statement):
        if isinstance(each, cst.Call) and each not in inside:
            yield each


def _shapes(job: Job, source: Source, before: Statement, name: str) -> Candidates:
    """`name = name.detach()` before a statement, in the shape that the value turns out to have."""
    line = source.range(before).start.line
    shape: str | None = likely_shape(job.name)
    guarded = False
    tried: set[tuple[str, bool]] = set()
    while shape is not None and (shape, guarded) not in tried:
        tried.add((shape, guarded))
        change = f"{name} = {detached(name, shape)}"
        lines = (f"if {name} is not None:", f"    {change}") if guarded else (change,)
        summary = f"detach `{name}` before line {line}"
        error = yield Patch(job.remedy.kind, summary, {source.file: (source.insert_before(before, *lines),)})
        seen = shape_in(error)
        if seen == "none" or "'NoneType' object" in error:
            guarded = True
        else:
            shape = seen


def _where_it_is_stored(job: Job) -> Candidates:
    """`self.cached = freqs` becomes `self.cached = freqs.detach()`."""
    for site in _stores(job):
        place = job.at(site)
        if place is None or not place[0].alone(place[1]):
            continue
        source, statement = place
        assigned = assignment(statement)
        whole = stem(job.name)
        if isinstance(assigned, cst.Assign) and len(assigned.targets) == 1 and assigned.value is not None:
            target = assigned.targets[0].target
            if not isinstance(target, (cst.Tuple, cst.List)):
                yield from _stored_value(job, source, assigned.value, source.range(statement).start.line)
                continue
            if whole and any(normal(source.code(t)) == normal(whole) for t in targets(statement)):
                yield from _after(job, source, statement, whole)
        elif isinstance(assigned, cst.AugAssign):
            yield from _after(job, source, statement, source.code(assigned.target))
        else:
            yield from _stored_argument(job, source, statement)


def _stores(job: Job) -> list[Site]:
    sites = [job.found.ways.assigned, job.remedy.site, job.found.built]
    return list(dict.fromkeys(site for site in sites if site is not None))


def _stored_value(job: Job, source: Source, value: cst.BaseExpression, line: int) -> Candidates:
    shape: str | None = "tensor"
    tried: set[str] = set()
    while shape is not None and shape not in tried and shape != "none":
        tried.add(shape)
        text = detached(wrapped(source, value), shape)
        error = yield job.patch(f"store it detached on line {line}", source, source.replace(value, text))
        shape = shape_in(error)


def _after(job: Job, source: Source, statement: Statement, name: str) -> Candidates:
    shape: str | None = likely_shape(job.name)
    tried: set[str] = set()
    line = source.range(statement).start.line
    while shape is not None and shape not in tried and shape != "none":
        tried.add(shape)
        edit = source.insert_after(statement, f"{name} = {detached(name, shape)}")
        error = yield job.patch(f"detach `{name}` after line {line}", source, edit)
        shape = shape_in(error)


def _stored_argument(job: Job, source: Source, statement: Statement) -> Candidates:
    """`memory.append(value)`, `replay.push(x, value)`: detach an argument that has a history."""
    line = source.range(statement).start.line
    for call in _calls(statement):
        for argument in call.args:
            if isinstance(argument.value, (cst.Integer, cst.Float, cst.SimpleString)) or argument.star:
                continue
            text = detached(wrapped(source, argument.value))
            yield job.patch(f"store it detached on line {line}", source, source.replace(argument.value, text))
