"""`combine_losses`: one pass over the sum, in place of several passes over one forward."""

from __future__ import annotations

import libcst as cst

from afterward.model.site import Site
from afterward.repair.edits import Edit, Patch
from afterward.repair.names import assigned_names, assignment, fresh, normal, reads, root, wrapped
from afterward.repair.passes import (
    is_step,
    keyword,
    loss_of,
    method_of,
    only_call,
    pass_calls,
    receiver,
    without_keyword,
)
from afterward.repair.scopes import argument_for, known_at
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    if job.found.name == "loss-never-used":
        yield from _added_to_the_loss(job)
        yield from _overwritten_in_a_loop(job)
        return
    yield from _two_statements(job)
    yield from _one_in_a_branch(job)
    yield from _one_statement_in_a_loop(job)


# Two statements, one after the other


def _two_statements(job: Job) -> Candidates:
    """The two ways to the passes part at two statements of one block: use the sum at the later one."""
    parted = job.parting(job.found.ways.freed, job.found.ways.reused)
    if parted is None:
        return
    source, first, second = parted
    between = source.between(first, second)
    if between is None or not (source.alone(first) and source.alone(second)):
        return
    after = source.after(second)
    steps = [place for place, statement in enumerate(after) if is_step(statement)]
    until_step = after[: steps[0]] if steps else []
    for rest in dict.fromkeys((tuple(until_step), ())):  # further losses of the same forward, up to the step
        members = [first, *between, second, *rest]
        calls = [s for s in members if _same_call(source, s, second)]
        first_loss = _loss_call(source, first)
        used_there = pass_calls(first) or (first_loss and _is_used_there(job, source, first, first_loss[0]))
        if len(calls) >= 2 and used_there:
            yield _summed(job, source, calls, members)


def _is_used_there(job: Job, source: Source, statement: Statement, loss: cst.BaseExpression) -> bool:
    """Does the function that is called here use the very thing that it is handed?"""
    place = job.at(job.found.freed)
    if place is None:
        return False
    function = place[0].function_of(place[1])
    roots = [
        name for call in pass_calls(place[1]) if (end := loss_of(call)) is not None for name in reads(place[0], end)
    ]
    if not isinstance(function, cst.FunctionDef):
        return False
    return any(argument_for(source, statement, function, name) is loss for name in roots)


def _same_call(source: Source, statement: Statement, model: Statement) -> bool:
    """Two lines that each do the same with a loss of their own."""
    one, other = _loss_call(source, statement), _loss_call(source, model)
    return one is not None and other is not None and one[1] == other[1]


def _loss_call(source: Source, statement: Statement) -> tuple[cst.BaseExpression, str] | None:
    """(the loss, the rest of the line): `loss` and `scaler.scale(·).backward()`."""
    call = only_call(statement)
    if call is None:
        return None
    passing = pass_calls(statement)
    if passing and (keyword(passing[0], "gradient") is not None or keyword(passing[0], "inputs") is not None):
        return None
    loss = loss_of(call) if passing and passing[0] is call else _first_argument(call)
    while isinstance(loss, cst.Call) and method_of(loss) == "scale":
        inner = _first_argument(loss)
        if inner is None:
            break
        loss = inner
    if loss is None:
        return None
    start, end = source.span(loss)
    first, last = source.span(call)
    rest = normal(source.text[first:start] + "·" + source.text[end:last])
    for flag in ("retain_graph=True", "retain_graph=False"):
        rest = rest.replace(f",{flag}", "").replace(flag, "")
    return loss, rest


def _first_argument(call: cst.Call) -> cst.BaseExpression | None:
    given = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
    return given[0] if given else None


def _summed(job: Job, source: Source, calls: list[Statement], members: list[Statement]) -> Patch:
    """Delete all but the last call, and give that one the sum."""
    edits: list[Edit] = []
    terms: list[str] = []
    for statement in calls[:-1]:
        found = _loss_call(source, statement)
        assert found is not None
        between = members[members.index(statement) + 1 :]
        text = wrapped_term(source, found[0])
        changed = set().union(*(assigned_names(source, s) for s in between)) if between else set()
        if reads(source, found[0]) & changed:  # the name stands for another loss by then
            name = fresh(source, "loss_so_far")
            edits.append(_line_for(source, statement, f"{name} = {wrapped_term(source, found[0])}"))
            text = name
        else:
            edits.append(source.delete(statement))
        terms.append(text)
    last = _loss_call(source, calls[-1])
    assert last is not None
    terms.append(wrapped_term(source, last[0]))
    whole = " + ".join(terms)
    inner = source.parent(last[0])
    called_on = isinstance(inner, cst.Attribute)
    edits.append(source.replace(last[0], f"({whole})" if called_on else whole))
    dropped = (without_keyword(source, call, "retain_graph") for call in pass_calls(calls[-1]))
    edits += [edit for edit in dropped if edit is not None]
    " and ".join(str(source.line(s)) for s in calls)
    return Patch(job.remedy.kind, {source.file: tuple(edits)})


def wrapped_term(source: Source, node: cst.BaseExpression) -> str:
    """A summand: products and powers stand as they are."""
    if isinstance(node, cst.BinaryOperation) and isinstance(
        node.operator, (cst.Multiply, cst.Divide, cst.Add, cst.Power, cst.MatrixMultiply)
    ):
        return source.code(node)
    return wrapped(source, node)


# Two statements, one of them under a condition


def _one_in_a_branch(job: Job) -> Candidates:
    """`a.backward()`, `if aux: b.backward()`: the losses are added up as they come, and used after the branch."""
    parted = job.parting(job.found.ways.freed, job.found.ways.reused)
    if parted is None:
        return
    source, first, second = parted
    for inner, outer in ((second, first), (first, second)):
        block = source.block_of(outer) or []
        home = source.in_block(inner, block)
        one, other = _loss_call(source, outer), _loss_call(source, inner)
        if not isinstance(home, cst.If) or one is None or other is None or one[1] != other[1]:
            continue
        if not _only_branches(source, inner, home) or not (pass_calls(outer) and source.alone(outer)):
            continue
        total = fresh(source, "total_loss")
        lines = {id(inner): f"{total} = {total} + {wrapped_term(source, other[0])}"}
        if inner is second:
            lines[id(outer)] = f"{total} = {wrapped_term(source, one[0])}"
            edits = [source.insert_after(home, _rest_of(source, outer, one[0], total))]
        else:
            lines[id(outer)] = ""
            whole = f"({total} + {wrapped_term(source, one[0])})"
            edits = [source.insert_before(home, f"{total} = 0"), source.replace(one[0], whole)]
        edits += [_line_for(source, each, lines[id(each)]) for each in (inner, outer) if lines[id(each)]]
        " and ".join(str(source.line(each)) for each in (first, second))
        yield job.patch(source, *edits)


def _only_branches(source: Source, inner: Statement, home: Statement) -> bool:
    """Is it run at most once with its branch, and stands alone there?"""
    for each in source.ancestors(inner):
        if each is home:
            return source.alone(inner)
        if isinstance(each, (cst.For, cst.While, cst.FunctionDef, cst.Try)):
            return False
    return False


def _line_for(source: Source, statement: Statement, text: str) -> Edit:
    """Other code for a line that is one call; what stands behind it stays."""
    call = only_call(statement)
    assert call is not None
    return source.replace(call, text)


# One statement, in every iteration of a loop


def _one_statement_in_a_loop(job: Job) -> Candidates:
    """Add the losses up in the loop, and use the sum after it."""
    for place in _levels_in_loop(job):
        source, statement, loop = place
        found = _loss_call(source, statement)
        if found is None or not source.alone(statement) or not source.alone(loop):
            continue
        if not pass_calls(statement) and not _is_used_there(job, source, statement, found[0]):
            continue
        moved = _updates(source, loop)
        if moved is None or (any(moved) and not job.found.code.startswith("AFT2")):
            continue  # one update in place of many is right only where the updates are the fault
        before, after = moved
        total = fresh(source, "total_loss")
        line = _rest_of(source, statement, found[0], total)
        edits = [
            source.insert_before(loop, *(source.code(s) for s in before), f"{total} = 0"),
            _line_for(source, statement, f"{total} = {total} + {wrapped_term(source, found[0])}"),
            source.insert_after(loop, line, *(source.code(s) for s in after)),
            *(source.delete(s) for s in (*before, *after)),
        ]
        yield job.patch(source, *edits)


def _levels_in_loop(job: Job) -> list[tuple[Source, Statement, Statement]]:
    """The statement that both passes come from, with the loop that runs it again, innermost first."""
    found = []
    for early, late in zip(job.found.ways.freed, job.found.ways.reused, strict=False):
        one, other = job.at(early), job.at(late)
        if one is None or other is None or one[1] is not other[1]:
            break
        source, statement = one
        loops = [loop for loop in source.loops_around(statement) if isinstance(loop, (cst.For, cst.While))]
        if loops and isinstance(statement, cst.SimpleStatementLine):
            found.append((source, statement, loops[0]))
    return [(source, statement, loop) for source, statement, loop in reversed(found) if isinstance(loop, Statement)]


def _updates(source: Source, loop: Statement) -> tuple[list[Statement], list[Statement]] | None:
    """Calls of zero_grad() and step() in the loop: they go before it and behind it. None: they cannot be moved."""
    before: list[Statement] = []
    after: list[Statement] = []
    body = source.body(loop) or []
    of_an_iteration = assigned_names(source, loop)
    for node in descendants(loop):
        if method_of(node) not in ("zero_grad", "step"):
            continue
        statement = source.statement_of(node)
        if statement not in body or only_call(statement) is not node or not source.alone(statement):
            return None
        if reads(source, statement) & of_an_iteration:
            return None  # each iteration steps something else
        (before if method_of(node) == "zero_grad" else after).append(statement)
    return before, after


def _rest_of(source: Source, statement: Statement, loss: cst.BaseExpression, total: str) -> str:
    first, last = source.span(loss)
    call = only_call(statement)
    assert call is not None
    begin, finish = source.span(call)
    return source.text[begin:first] + total + source.text[last:finish]


# A part of a loss that no pass uses


def _added_to_the_loss(job: Job) -> Candidates:
    """`total.backward()` becomes `(total + parts["smooth"]).backward()`: the part that was left out counts too."""
    place = job.at(job.found.freed)
    if place is None or job.found.bridge is None or job.found.bridge.kind != "item":
        return
    source, backward = place
    if root(job.name) not in known_at(source, backward):
        return
    for call in pass_calls(backward):
        loss = loss_of(call)
        if loss is not None:
            whole = f"{wrapped_term(source, loss)} + {job.name}"
            text = f"({whole})" if isinstance(source.parent(loss), cst.Attribute) else whole
            yield job.patch(source, source.replace(loss, text))


# A loss that is overwritten before anyone uses it


def _overwritten_in_a_loop(job: Job) -> Candidates:
    """Call backward in each iteration; what is scaled after the loop, as an average is, is to be a sum by then."""
    built: Site | None = job.remedy.site or job.found.built
    computed, backward = job.at(built), job.at(job.found.freed)
    if computed is None or backward is None or computed[0] is not backward[0]:
        return
    source, statement = computed
    if not source.alone(backward[1]) or only_call(backward[1]) is None:
        return
    loop = next((one for one in source.loops_around(statement) if isinstance(one, (cst.For, cst.While))), None)
    if loop is not None and source.alone(loop) and _goes_on(source, loop, statement, backward[1]):
        yield _summed_up(job, source, loop, statement)
        return
    edits = [source.insert_after(statement, *source.dedented(backward[1])), source.delete(backward[1])]
    edits += _cleared_before_the_loop(source, statement, backward[1])
    yield job.patch(source, *edits)


def _goes_on(source: Source, loop: Statement, statement: Statement, backward: Statement) -> bool:
    """Is something else computed of the loss between the loop and the backward, or by that statement?"""
    between, names = source.between(loop, backward), assigned_names(source, statement)
    if len(names) != 1 or between is None or not isinstance(assignment(statement), cst.Assign):
        return False
    loss = _loss_call(source, backward)
    written = loss is not None and isinstance(loss[0], cst.Name)
    return any(reads(source, one) & names and assigned_names(source, one) for one in between) or not written


def _summed_up(job: Job, source: Source, loop: Statement, statement: Statement) -> Patch:
    (name,) = assigned_names(source, statement)
    total = fresh(source, f"total_{name}")
    edits = (
        source.insert_before(loop, f"{total} = 0"),
        source.insert_after(statement, f"{total} = {total} + {name}"),
        source.insert_after(loop, f"{name} = {total}"),
    )
    return job.patch(source, *edits)


def _cleared_before_the_loop(source: Source, statement: Statement, backward: Statement) -> list[Edit]:
    """`opt.zero_grad()` between the loop and the backward after it would clear what the iterations now add up."""
    before = source.before(backward)
    loop = next((each for each in source.loops_around(statement) if each in before), None)
    if not isinstance(loop, Statement):
        return []
    between = source.between(loop, backward) or []
    clearing = [each for each in between if source.alone(each) and receiver(each, "zero_grad") is not None]
    clearing = [each for each in clearing if not reads(source, each) & assigned_names(source, loop)]
    if not clearing:
        return []
    lines = [source.code(each) for each in clearing]
    return [source.insert_before(loop, *lines), *(source.delete(each) for each in clearing)]
