"""`detach_state`: cut what is carried from step to step, at the step's boundary."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from afterward.model import facts
from afterward.model.diagnosis import Form
from afterward.model.facts import Fact
from afterward.model.names import container_of
from afterward.model.shapes import cut_lines, likely_shape
from afterward.model.site import Site
from afterward.repair import idle_cuts, resets
from afterward.repair.detaching import Shapes, shapes_in
from afterward.repair.names import assignable, assignment, named, normal, root, targets, wrapped
from afterward.repair.passes import only_call, own_nodes
from afterward.repair.scopes import known_at, names_at_loop
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job, Place

_PUTTING = ("append", "appendleft", "insert", "add", "push", "put", "setdefault", "extend")


def candidates(job: Job) -> Candidates:
    """A cut without effect; where the step reads it; where the step begins; before it is read; where it is stored."""
    yield from idle_cuts.candidates(job)
    if _is_kept(job):
        yield from _where_it_is_put(job)
    yield from _where_it_is_read(job)
    for number, place in enumerate(place for place in _places(job) if assignable(place[2])):
        yield from _shapes(job, *place)
        if number == 0:
            yield from _begun_again(job, *place)
    yield from _all_that_is_carried(job)
    yield from resets.candidates(job)
    yield from _where_it_is_stored(job)
    if not _is_kept(job):
        yield from _where_it_is_put(job)
    if job.found.bridge is None:
        yield from _made_from_itself(job)


def _begun_again(job: Job, source: Source, statement: Statement, name: str) -> Candidates:
    """What was None before the first step is None again before each: the step then begins from its parameters."""
    if job.found.bridge is not None and job.found.bridge.from_none:
        code = f"{name} = None"
        yield job.begun_again(source, source.insert_before(statement, code), code, name)


def _made_from_itself(job: Job) -> Candidates:
    """Nothing knows the state's name: try each value that is computed from its own last value."""
    for source in job.shop.sources():
        for statement in source.statements:
            made = assignment(statement)
            if not isinstance(made, cst.Assign) or len(made.targets) != 1:
                continue
            name = source.code(made.targets[0].target)
            own = list(named(source, made.value, name))
            if list(named(source, made.value, f"{name}.grad")):  # a leaf, changed by hand: it stays one
                text = f"{wrapped(source, made.value)}.detach().requires_grad_()"
                yield job.patch(source, source.replace(made.value, text))
            elif own:
                edits = [source.replace(node, f"{name}.detach()") for node in own]
                yield job.patch(source, *edits)


def _where_it_is_read(job: Job) -> Candidates:
    """`cell(x, hidden)` becomes `cell(x, hidden.detach())`, if the step reads it there, and once."""
    source = job.shop.source(job.reading)
    if source is None:
        return
    node, loop = _node_read(job, source), source.loop_at(job.found.ways.loop)
    if node is None or loop is None or source.loops_around(node)[:1] != [loop]:
        return
    name = source.code(node)
    statement = source.statement_of(node)
    if statement is None or not _is_argument(source, node) or len(_reads_in_loop(source, loop, name)) != 1:
        return
    # What is added to something is a tensor; what is handed over may be None, or hold several.
    whole = job.found.bridge if name == job.name and isinstance(source.parent(node), cst.Arg) else None
    shapes = Shapes(job.shop, likely_shape("", whole), whole)
    while shapes:
        text = shapes.expression(name)
        if text is not None:
            edit = source.replace(node, text)
            said = (Form.READ, (facts.code("target", name),)) if _is_stored(job) else None
            shapes.learn((yield job.patch(source, edit, said=said)))


def _node_read(job: Job, source: Source) -> cst.BaseExpression | None:
    """What the site of the bridge shows; where the statement has the very name elsewhere, that."""
    node = source.expression_at(job.reading)
    statement = source.statement_of(node) if node is not None else None
    exact = list(named(source, statement, job.name)) if statement is not None and job.name else []
    return node if node is None or node in exact or len(exact) != 1 else exact[0]


def _is_argument(source: Source, node: cst.CSTNode) -> bool:
    return isinstance(source.parent(node), (cst.Arg, cst.BinaryOperation))


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
    whole = container_of(job.name)
    taking = job.loop()
    if taking is not None and whole:
        source, loop, body = taking
        for name in dict.fromkeys(names_at_loop(job, source, loop, whole)):
            yield source, body[0], name
    yield from _before_the_rollout(job, whole)
    yield from _at_the_border(job, whole)
    yield from _where_the_backward_begins(job, whole)
    place = job.at(job.reading)
    if place is not None:
        name = _read_as(job, place[0]) or whole
        if name and root(name) in known_at(*place):
            for inner in source_loops(*place)[:1]:
                yield place[0], inner[0], name
            yield *place, name


def _before_the_rollout(job: Job, whole: str) -> Iterator[tuple[Source, Statement, str]]:
    """`for t in range(5): y, h = cell(x, h)`, and `backward()` after it: the state is cut before that inner loop."""
    reading = job.at(job.reading)
    if reading is None:
        return
    source, statement = reading
    name = _read_as(job, source) or whole
    for using in (at for site in job.found.ways.reused if (at := job.at(site)) is not None):
        if using[0] is source and source.function_of(using[1]) is source.function_of(statement):
            around = source.loops_around(using[1])
            rollout = [loop for loop in source.loops_around(statement) if loop not in around and loop is not using[1]]
            for loop in rollout[-1:]:
                if isinstance(loop, (cst.For, cst.While)) and root(name) in known_at(source, loop):
                    yield source, loop, name


def _at_the_border(job: Job, whole: str) -> Iterator[tuple[Source, Statement, str]]:
    """`if (t + 1) % 5 == 0: loss.backward()`: a rollout of several iterations ends there, and the state is cut."""
    place = _end_of_rollout(job)
    if place is not None and whole:
        source, first = place
        for name in dict.fromkeys(names_at_loop(job, source, first, whole)):
            yield source, first, name


def _end_of_rollout(job: Job) -> Place | None:
    """The first statement of the condition that a rollout's `backward()`, or a call that makes it, stands under."""
    for source, using in (at for site in job.found.ways.reused[::-1] if (at := job.at(site)) is not None):
        block = source.block_of(using) or []
        holder = source.holder(using)
        if isinstance(holder, cst.If) and source.loops_around(holder) and block:
            return source, block[0]
    return None


def _where_the_backward_begins(job: Job, whole: str) -> Iterator[tuple[Source, Statement, str]]:
    """The function that uses computes its loss by a call that renews the state: the cut goes before that call, or
    before the loop of a rollout that makes several such calls for one loss."""
    place = job.at(job.found.reused)
    if place is None or not whole:
        return
    source, backward = place
    function = source.function_of(backward)
    for site in job.found.ways.built[:-1]:
        calling = job.at(site)
        if calling is not None and calling[0] is source and source.function_of(calling[1]) is function:
            around = source.loops_around(backward)
            rollout = [loop for loop in source.loops_around(calling[1]) if loop not in around and loop is not backward]
            first = next((loop for loop in rollout[-1:] if isinstance(loop, (cst.For, cst.While))), calling[1])
            for name in dict.fromkeys(names_at_loop(job, source, first, whole)):
                yield source, first, name


def _all_that_is_carried(job: Job) -> Candidates:
    """What a run shows that the step before has left with its graph, cut where a step begins, all of it together."""
    taking = job.loop()
    if taking is None:
        return
    source, loop, body = taking
    end = _end_of_rollout(job)
    first = end[1] if end is not None and end[0] is source and loop in source.ancestors(end[1]) else body[0]
    where = source.range(loop)
    found = job.shop.carried(source.file, where.start.line, where.end.line)
    carried = [one for one in found if assignable(one.name) and _is_written_by_program(job, one.name)]
    cuts = {one.name: cut_lines(one.name, shape) for one in carried for shape in list(shapes_in(one.structure))[:1]}
    methods = {one.name: (f"{one.method}()",) if one.method else cuts.get(one.name, ()) for one in carried}
    whole = [ways for ways in (methods, cuts) if ways and all(ways.values()) and len(ways) == len(carried)]
    written = [(ways, tuple(dict.fromkeys(line for each in ways.values() for line in each))) for ways in whole]
    for ways, lines in written:
        yield job.patch(source, source.insert_before(first, *lines), said=_carried_said(ways, lines))
    last = _end_of_step(job, source, body)
    if last is None:
        return
    for ways, lines in written:
        yield job.patch(source, source.insert_after(last, *lines), said=_carried_said(ways, lines, "step_end"))


def _is_written_by_program(job: Job, name: str) -> bool:
    """`g._node_frames[0]` is how a library keeps what the program calls `g.ndata["h"]`."""
    return all(any(part in text for text in job.shop.texts.values()) for part in re.findall(r"\._\w+", name))


def _carried_said(
    ways: dict[str, tuple[str, ...]], lines: tuple[str, ...], form: str = Form.STEP_START
) -> tuple[str, tuple[Fact, ...]]:
    target = facts.names("target", tuple(ways)) if len(ways) > 1 else facts.code("target", *ways)
    return form, (target, facts.code("code", lines[0] if len(lines) == 1 else ""))


def _end_of_step(job: Job, source: Source, body: list[Statement]) -> Statement | None:
    """The statement of a loop in which the failing pass is: what a step begins with may itself be trained."""
    using = [at[1] for site in job.found.ways.reused if (at := job.at(site)) is not None and at[0] is source]
    homes = (source.in_block(statement, body) for statement in using)
    return next((home for home in homes if home is not None and source.alone(home)), None)


def source_loops(source: Source, statement: Statement) -> list[list[Statement]]:
    """The bodies of the loops around a statement, innermost first."""
    return [body for loop in source.loops_around(statement) if (body := source.body(loop))]


def _read_as(job: Job, source: Source) -> str:
    """The name by which the statement that reads the state knows it."""
    node = source.expression_at(job.reading)
    return container_of(source.code(node)) if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)) else ""


def _shapes(job: Job, source: Source, before: Statement, name: str) -> Candidates:
    """`name = name.detach()` before a statement, in the shape that the value turns out to have."""
    shapes = Shapes(job.shop, likely_shape(_element(job), job.found.bridge), job.found.bridge)
    while shapes:
        lines = shapes.lines(name, source, before)
        if lines:
            edit = source.insert_before(before, *lines)
            code = facts.code("code", lines[0]) if len(lines) == 1 else facts.code("code", "")
            said = (Form.STEP_START, (facts.code("target", name), code))
            shapes.learn((yield job.patch(source, edit, said=said)))


def _where_it_is_stored(job: Job) -> Candidates:
    """`self.cached = freqs` becomes `self.cached = freqs.detach()`."""
    for source, statement in job.places(_stores(job), alone=True):
        assigned = assignment(statement)
        whole = container_of(job.name)
        if isinstance(assigned, cst.Assign) and len(assigned.targets) == 1 and assigned.value is not None:
            target = assigned.targets[0].target
            if not isinstance(target, (cst.Tuple, cst.List)):
                of_it = normal(source.code(target)) == normal(whole)
                yield from _stored_value(job, source, assigned.value, _element(job) if of_it else "")
                continue
            if whole and any(normal(source.code(t)) == normal(whole) for t in targets(statement)):
                yield from _after(job, source, statement, whole)
        elif isinstance(assigned, cst.AugAssign):
            yield from _after(job, source, statement, source.code(assigned.target))
        else:
            yield from _stored_argument(job, source, statement)


def _is_kept(job: Job) -> bool:
    """Is it something that is kept, which each step adds to, and no state that each step renews?"""
    return job.found.name == "history-cached"


def _where_it_is_put(job: Job) -> Candidates:
    """`self.keys.append(k)`, `self.shadow[name] = value`: whatever puts something into what holds the value."""
    whole = container_of(job.name)
    label = re.split(r"[.\[\]]", whole)[-1]
    if whole == job.name and "." not in whole:
        return  # a name of its own: nothing is put into it
    for source in job.shop.sources(rf"\b{re.escape(label)}\b"):
        for statement in (each for each in source.statements if source.alone(each)):
            for value in _put_into(source, statement, label, whole == job.name):
                yield from _stored_value(job, source, value)


def _put_into(source: Source, statement: Statement, label: str, itself: bool) -> Iterator[cst.BaseExpression]:
    """The values that a statement puts into what goes by this name; or gives it, if it is no container."""
    made, call = assignment(statement), only_call(statement)
    if call is not None and isinstance(call.func, cst.Attribute) and call.func.attr.value in _PUTTING and call.args:
        last = call.args[-1]
        if _goes_by(source, call.func.value, label) and not last.star and not itself:
            yield last.value
    elif isinstance(made, cst.Assign) and len(made.targets) == 1 and not _in_constructor(source, statement):
        target = made.targets[0].target
        wanted = (cst.Subscript, cst.Attribute) if itself else cst.Subscript
        if isinstance(target, wanted) and _goes_by(source, target, label):
            yield made.value


def _goes_by(source: Source, node: cst.BaseExpression, label: str) -> bool:
    """`self.bank.keys` goes by `keys`, and so does `self.keys[name]`."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return isinstance(node, (cst.Name, cst.Attribute)) and source.code(node).rsplit(".", 1)[-1] == label


def _in_constructor(source: Source, statement: Statement) -> bool:
    function = source.function_of(statement)
    return isinstance(function, cst.FunctionDef) and function.name.value == "__init__"


def _stores(job: Job) -> list[Site]:
    sites = [job.found.ways.assigned, job.remedy.site if job.found.bridge is not None else None, job.found.built]
    if job.found.bridge is None:
        return []
    return list(dict.fromkeys(site for site in sites if site is not None))


def _stored_value(job: Job, source: Source, value: cst.BaseExpression, element: str = "") -> Candidates:
    """`element`: the item of what is stored that the fault is about."""
    bridge = job.found.bridge if element else None
    shapes = Shapes(job.shop, likely_shape(element, bridge), bridge)
    while shapes:
        text = shapes.expression(wrapped(source, value))
        if text is not None:
            edit = source.replace(value, text)
            shapes.learn((yield job.patch(source, edit, said=_as_stored(job))))


def _element(job: Job) -> str:
    """`[0]` of `state[0]`."""
    return job.name[len(container_of(job.name)) :]


def _after(job: Job, source: Source, statement: Statement, name: str) -> Candidates:
    shapes = Shapes(job.shop, likely_shape(_element(job), job.found.bridge), job.found.bridge)
    while shapes:
        lines = shapes.lines(name, source, statement)
        if lines:
            edit = source.insert_after(statement, *lines)
            shapes.learn((yield job.patch(source, edit)))


def _stored_argument(job: Job, source: Source, statement: Statement) -> Candidates:
    """`memory.append(value)`, `replay.push(x, value)`: detach an argument that has a history."""
    for call in (n for n in own_nodes(statement) if isinstance(n, cst.Call)):
        for argument in call.args:
            if isinstance(argument.value, (cst.Integer, cst.Float, cst.SimpleString)) or argument.star:
                continue
            edit = source.replace(argument.value, f"{wrapped(source, argument.value)}.detach()")
            yield job.patch(source, edit, said=_as_stored(job))


def _is_stored(job: Job) -> bool:
    return job.remedy.form == Form.STORED


def _as_stored(job: Job) -> tuple[str, tuple[Fact, ...]] | None:
    """What the remedy becomes with a cut where the value is stored, unless it is that already."""
    return None if _is_stored(job) or not job.name else (Form.STORED, (facts.code("target", job.name),))
