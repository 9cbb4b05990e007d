"""`detach_input`: cut a value where it is data for another network's loss."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.model.diagnosis import Form
from afterward.model.names import container_of
from afterward.model.shapes import detached
from afterward.repair import targets_of_losses
from afterward.repair.detaching import Shapes
from afterward.repair.names import (
    assigned_names,
    assignment,
    forming,
    is_read,
    named,
    plain_names,
    reads,
    root,
    targets,
    wrapped,
)
from afterward.repair.passes import own_nodes
from afterward.repair.scopes import parameters_of
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job

SEVERAL = 2  # readings of one value


def candidates(job: Job) -> Candidates:
    yield from targets_of_losses.candidates(job)
    if job.remedy.form in (Form.MADE, Form.UNTRAINED):
        yield from _where_it_is_made(job)
    yield from _from_here_on(job)
    yield from _where_it_is_read(job)
    yield from _in_the_late_loss(job)
    yield from _where_it_is_made(job)
    yield from _where_it_is_handed_on(job)


def _where_it_is_read(job: Job) -> Candidates:
    """Each place between its making and the two passes where the value goes into something."""
    for source, statement, node in _readings(job):
        name = source.code(node)
        shapes = Shapes(job.shop)
        while shapes:
            nodes = [node] if _is_element(source, node) else _uncut(source, statement, name) or [node]
            # Each as it is written there: within an f-string, quotes of the other kind would end it.
            shape = shapes.take()
            texts = [(each, detached(source.code(each), shape)) for each in nodes]
            edits = [source.replace(each, text) for each, text in texts if text is not None]
            if len(edits) == len(texts) and not shapes.guard:
                shapes.learn((yield job.patch(source, *edits)))


def _from_here_on(job: Job) -> Candidates:
    """The later loss reads the value in several places: cut it once, before the first of them."""
    parted = job.parting(job.found.ways.freed, job.found.ways.reused)
    if parted is None or _in_early(job) or not job.name.isidentifier():
        return
    source, early, late = parted
    between = source.between(early, late)
    if between is None or not any(job.name in assigned_names(source, each) for each in source.before(early)):
        return
    later = [each for each in (*between, late) if _uncut(source, each, job.name)]
    if sum(len(_uncut(source, each, job.name)) for each in later) < SEVERAL:
        return
    edit = source.insert_before(later[0], f"{job.name} = {job.name}.detach()")
    yield job.patch(source, edit)


# What does not carry the history on.
_HARMLESS = ("detach", "detach_", "data", "item", "tolist", "shape", "size", "dim", "ndim", "numel", "device", "dtype")


def _uncut(source: Source, statement: Statement, name: str) -> list[cst.BaseExpression]:
    """The places in a statement where the value is read with its history."""
    return [node for node in named(source, statement, name) if not _only_looked_at(source, node)]


def _only_looked_at(source: Source, node: cst.CSTNode) -> bool:
    """`fake.detach()`, `fake.size(0)`, `torch.ones_like(fake)`"""
    parent = source.parent(node)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in _HARMLESS
    call = source.parent(parent) if isinstance(parent, cst.Arg) else None
    return isinstance(call, cst.Call) and source.code(call.func).endswith("_like")


def _is_element(source: Source, node: cst.CSTNode) -> bool:
    parent = source.parent(node)
    return isinstance(parent, (cst.ListComp, cst.GeneratorExp, cst.SetComp)) and parent.elt is node


def _readings(job: Job) -> Iterator[tuple[Source, Statement, cst.BaseExpression]]:
    source = job.shop.source(job.reading)
    seen: set[int] = set()
    if source is not None and not _in_early(job):
        node = source.expression_at(job.reading)
        statement = source.statement_of(node) if node is not None else None
        if node is not None and statement is not None:
            seen.add(id(statement))
            yield source, statement, node
    for other in (*_others_of_the_loop(job), *_other_readings(job)):
        if id(other[1]) not in seen:
            seen.add(id(other[1]))
            yield other


def _in_early(job: Job) -> bool:
    """Does the cut belong into the loss that was used first?"""
    return job.remedy.form in (Form.READ_EARLY, Form.READ_OTHER, Form.MADE, Form.UNTRAINED)


def _other_readings(job: Job) -> Iterator[tuple[Source, Statement, cst.BaseExpression]]:
    """Every statement after the making, in the same function, that reads the name; the first loss's own ones first."""
    place = job.at(job.found.ways.assigned or job.found.built)
    name = job.name
    if place is None or not name:
        return
    source, maker = place
    function = source.function_of(maker)
    block = function.body if isinstance(function, cst.Module) else getattr(function.body, "body", ())
    first = source.range(maker).end.line
    for statement in _lines_of(source, list(block)):
        if source.line(statement) <= first:
            continue
        node = next(iter(_uncut(source, statement, name)), None)
        if node is not None and not isinstance(source.parent(node), cst.Attribute):
            yield source, statement, node


def _in_the_late_loss(job: Job) -> Candidates:
    """The value is not read by name where the failing loss is formed, but what was computed from it: `roll["reward"]`.

    Each value that comes into that function from outside may be it.
    """
    place = job.at(job.found.ways.reused[-1] if job.found.ways.reused else None)
    read = job.at(job.reading)
    if place is None or _in_early(job):
        return
    source, backward = place
    function = source.function_of(backward)
    here = read is not None and read[0] is source and source.function_of(read[1]) is function
    if here or not isinstance(function, cst.FunctionDef):
        return
    given = set(parameters_of(function))
    values: dict[str, list[cst.BaseExpression]] = {}
    for statement in forming(source, source.before(backward), reads(source, backward)):
        for node in _values_in(source, statement):
            if root(source.code(node)) in given and source.code(node) != "self":
                values.setdefault(source.code(node), []).append(node)
    for name, nodes in values.items():
        edits = [source.replace(node, f"{name}.detach()") for node in nodes]
        yield job.patch(source, *edits)


def _values_in(source: Source, statement: Statement) -> Iterator[cst.BaseExpression]:
    """The longest names that a statement reads, without the methods that are called on them."""
    for node in own_nodes(statement):
        parent = source.parent(node)
        if not isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)) or not is_read(source, node):
            continue
        if isinstance(parent, cst.Call) and parent.func is node:
            continue
        if isinstance(parent, cst.Attribute):
            call = source.parent(parent)
            called = isinstance(call, cst.Call) and call.func is parent
            if not called or parent.attr.value in _HARMLESS:
                continue
        elif isinstance(parent, cst.Subscript) and parent.value is node:
            continue
        yield node


def _others_of_the_loop(job: Job) -> Iterator[tuple[Source, Statement, cst.BaseExpression]]:
    """The value is one of several that a loop goes over: where an iteration reads the others of them."""
    taking = job.loop()
    source, loop = taking[:2] if taking is not None else (None, None)
    if source is None or not isinstance(loop, cst.For) or job.name not in plain_names(loop.target):
        return
    for several in sorted(reads(source, loop.iter)):
        for statement in _lines_of(source, list(loop.body.body)):
            for node in named(source, statement, several):
                yield source, statement, _each_of(source, node) or node


def _each_of(source: Source, node: cst.CSTNode) -> cst.BaseExpression | None:
    """`o` of `[o for o in outputs]`, where that is what each one is taken as."""
    for holder in source.ancestors(node):
        if isinstance(holder, (cst.ListComp, cst.GeneratorExp, cst.SetComp)):
            return holder.elt if isinstance(holder.elt, cst.Name) else None
        if not isinstance(holder, (cst.BaseExpression, cst.Arg, cst.CompFor)):
            return None
    return None


def _lines_of(source: Source, block: list[cst.CSTNode]) -> Iterator[cst.SimpleStatementLine]:
    for statement in block:
        if isinstance(statement, cst.SimpleStatementLine):
            yield statement
        inner = getattr(statement, "body", None)
        if isinstance(inner, cst.IndentedBlock):
            yield from _lines_of(source, list(inner.body))


def _where_it_is_made(job: Job) -> Candidates:
    """`advantages = returns - values` becomes `(returns - values).detach()`; a call that gives several, `no_grad`."""
    sites = dict.fromkeys((job.found.ways.assigned, job.found.built, *reversed(job.found.ways.built)))
    for source, statement in job.places(sites, alone=True):
        made = assignment(statement)
        if isinstance(made, cst.Assign) and len(targets(statement)) == 1:
            text = f"{wrapped(source, made.value)}.detach()"
            yield job.patch(source, source.replace(made.value, text))
        elif isinstance(made, cst.Assign) and not under_no_grad(source, statement):
            yield job.patch(source, source.under("with torch.no_grad():", statement))
        elif _returned(statement) is not None:
            value = _returned(statement)
            assert value is not None
            text = f"{wrapped(source, value)}.detach()"
            yield job.patch(source, source.replace(value, text))


def under_no_grad(source: Source, statement: Statement) -> bool:
    """Is a statement of a function under `no_grad` already?"""
    for holder in source.ancestors(statement):
        if isinstance(holder, cst.With) and any("no_grad" in source.code(item) for item in holder.items):
            return True
        if isinstance(holder, cst.FunctionDef):
            return False
    return False


def _returned(statement: Statement) -> cst.BaseExpression | None:
    if isinstance(statement, cst.SimpleStatementLine) and isinstance(statement.body[0], cst.Return):
        value = statement.body[0].value
        return value if not isinstance(value, cst.Tuple) else None
    return None


def _where_it_is_handed_on(job: Job) -> Candidates:
    """An argument of a call on the way to the pass: `pool.query(fake)` becomes `pool.query(fake.detach())`."""
    name = container_of(job.name)
    for source, statement in job.places((*job.found.ways.freed[:-1], *job.found.ways.reused[:-1])):
        calls = (node for node in own_nodes(statement) if isinstance(node, cst.Call))
        given = (one.value for call in calls for one in call.args if not one.star)
        for node in (one for one in given if isinstance(one, (cst.Name, cst.Attribute))):
            if source.code(node) != name:
                yield job.patch(source, source.replace(node, f"{source.code(node)}.detach()"))
