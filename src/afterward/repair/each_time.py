"""Ways to have a value computed each time it is wanted: a property, a closure, a block that each iteration enters."""

from __future__ import annotations

import libcst as cst

from afterward.model.names import container_of
from afterward.repair import as_property
from afterward.repair.edits import Edit
from afterward.repair.names import assignment, fresh, named, normal, targets, wrapped
from afterward.repair.passes import own_nodes, trains
from afterward.repair.scopes import argument_for, parameters_of
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job, Place


def candidates(job: Job, makers: list[Place]) -> Candidates:
    """`makers` are the statements that may have made the value."""
    yield from _in_its_own_iteration(job, makers)
    yield from _block_of_each_iteration(job)
    yield from _bound_late(job, makers)
    yield from _handed_over_as_closure(job)
    yield from as_property.candidates(job, makers)


# A loop over values that were all made before its first iteration


def _in_its_own_iteration(job: Job, makers: list[Place]) -> Candidates:
    """`for key, loss in losses.items():` gets `loss = make_losses()[key]`: each is made in its own iteration."""
    taking = job.loop()
    loop_source, loop, body = taking if taking is not None else (None, None, [])
    if not isinstance(loop, cst.For):
        return
    for source, maker in makers:
        made = assignment(maker)
        if source is not loop_source or not isinstance(made, cst.Assign) or len(targets(maker)) != 1:
            continue
        name = source.code(targets(maker)[0])
        found = _iterations_over(source, loop, name)
        if found is None:
            continue
        key, value, edits = found
        edits.append(source.insert_before(body[0], f"{value} = {wrapped(source, made.value)}[{key}]"))
        yield job.patch(source, *edits)


def _iterations_over(source: Source, loop: cst.For, name: str) -> tuple[str, str, list[Edit]] | None:
    """(the key of an iteration, its value, what has to be changed at the head) of a loop over the values of a name."""
    over, target = normal(source.code(loop.iter)), loop.target
    parts = [source.code(e.value) for e in target.elements] if isinstance(target, cst.Tuple) else []
    if over in (f"{normal(name)}.items()", f"enumerate({normal(name)})") and len(parts) == 2:
        return parts[0], parts[1], []
    if over == normal(name) and isinstance(target, cst.Name):
        number = fresh(source, "index")
        head = [source.replace(target, f"{number}, {target.value}"), source.replace(loop.iter, f"enumerate({name})")]
        return number, target.value, head
    return None


# A block that caches, around the loop


def _block_of_each_iteration(job: Job) -> Candidates:
    """`with cached(): for x in data:` becomes `for x in data: with cached():`; each iteration makes what it caches."""
    taking = job.loop()
    if taking is None:
        return
    source, loop, _ = taking
    holder = source.holder(loop)
    if not isinstance(holder, cst.With) or source.body(holder) != [loop]:
        return
    if not any("cache" in source.code(item) for item in holder.items):
        return
    heads = [_head(source, each) for each in (holder, loop)]
    if None in heads:
        return
    (a, b), (c, d) = (each for each in heads if each is not None)
    edits = (Edit(a, b, source.text[c:d]), Edit(c, d, source.text[a:b]))
    yield job.patch(source, *edits)


def _head(source: Source, statement: Statement) -> tuple[int, int] | None:
    """The characters of a head that fits on one line, with the body below it."""
    if not isinstance(getattr(statement, "body", None), cst.IndentedBlock):
        return None
    first, last = source.head_lines(statement)
    start, _ = source.bare_span(statement)
    end = source.offset(last + 1, 0)
    text = source.text[start:end].rstrip("\r\n")
    return (start, start + len(text)) if first == last else None


# A value that was bound when a function was made


def _bound_late(job: Job, makers: list[Place]) -> Candidates:
    """`partial(f, g(w))` becomes `lambda: f(g(w))`, which calls `g` each time."""
    for source, maker in makers:
        for call in own_nodes(maker):
            if not isinstance(call, cst.Call) or not source.code(call.func).endswith("partial") or len(call.args) < 2:
                continue
            if any(arg.star == "**" for arg in call.args):
                continue  # what is given later could not stand behind these
            function = source.code(call.args[0].value)
            start = source.bare_span(call.args[1])[0]
            given = source.text[start : source.bare_span(call)[1] - 1].strip().removesuffix(",")
            for head, more in (("lambda", ""), ("lambda *args", ", *args")):
                text = f"{head}: {function}({given}{more})"
                if not isinstance(source.parent(call), (cst.Assign, cst.Arg)):
                    text = f"({text})"
                yield job.patch(source, source.replace(call, text))


# A value that is handed to a function which uses it again and again


def _handed_over_as_closure(job: Job) -> Candidates:
    """`update(net(x))` becomes `update(lambda: net(x))`, and `update` calls what it got for each pass."""
    place = job.at(job.found.reused)
    if place is None or "." in job.name:
        return
    source, backward = place
    function = source.function_of(backward)
    if not isinstance(function, cst.FunctionDef) or job.name not in parameters_of(function):
        return
    for site in reversed(job.found.ways.reused[:-1]):
        caller = job.at(site)
        argument = argument_for(*caller, function, job.name) if caller is not None else None
        if caller is None or argument is None or not _computes(argument):
            continue
        called = _called_within(job, source, function)
        if not called or trains(list(job.shop.sources()), argument):
            return
        text = caller[0].code(argument)
        edits: dict[str, list[Edit]] = {source.file: called}
        edits.setdefault(caller[0].file, []).append(caller[0].replace(argument, f"lambda: {text}"))
        yield job.patches(edits)
        return


def _computes(argument: cst.BaseExpression) -> bool:
    """Does it compute something, where `losses["actor"]` looks up what was computed before?"""
    computing = (cst.Call, cst.BinaryOperation, cst.UnaryOperation)
    return not isinstance(argument, cst.Lambda) and any(isinstance(node, computing) for node in own_nodes(argument))


def _called_within(job: Job, source: Source, function: cst.FunctionDef) -> list[Edit]:
    """Call the parameter where each pass begins: in the loop of the function, else at its start."""
    name = job.name
    loop = source.loop_at(job.found.ways.loop)
    if loop is not None and source.function_of(loop) is function:
        body = source.body(loop)
        if not body:
            return []
        new = fresh(source, f"new_{name}")
        first = source.range(body[0]).start.line
        after = [node for node in named(source, function.body, name) if source.line(node) >= first]
        edits = [source.replace(node, new) for node in after]
        return [source.insert_before(body[0], f"{new} = {name}()"), *edits]
    body = source.body(function)
    return [source.insert_before(body[0], f"{name} = {name}()")] if body else []


# A value that is stored for the next time


def not_stored(job: Job) -> Candidates:
    """`self.cached = freqs`, where `freqs` is used anyway: what is not stored is computed each time."""
    attribute = container_of(job.name).rsplit(".", 1)[-1]
    for source in job.shop.sources():
        for statement in source.statements:
            made, function = assignment(statement), source.function_of(statement)
            if not isinstance(made, cst.Assign) or not isinstance(made.value, cst.Name) or len(targets(statement)) != 1:
                continue
            target = targets(statement)[0]
            if not isinstance(target, cst.Attribute) or target.attr.value != attribute or not source.alone(statement):
                continue
            if not isinstance(function, cst.FunctionDef) or function.name.value == "__init__":
                continue
            holder = source.holder(statement)
            alone = isinstance(holder, cst.If) and holder.orelse is None and source.body(holder) == [statement]
            gone = holder if alone and isinstance(holder, cst.If) and source.alone(holder) else statement
            yield job.patch(source, source.delete(gone))
