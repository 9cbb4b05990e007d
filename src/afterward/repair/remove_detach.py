"""`remove_detach`: take out a cut that goes too far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from afterward.model import facts
from afterward.model.site import Site
from afterward.repair import thawing
from afterward.repair.edits import Edit
from afterward.repair.names import assigned_names, in_place_of, reads, wrapped
from afterward.repair.passes import called_name, keyword, only_call, own_nodes, pass_calls
from afterward.repair.scopes import parameters_of
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job, Place

OTHER = "other"  # no cut was found: parameters may be frozen
THAW = "thaw"  # they are: `requires_grad` was seen to be off
_METHODS = ("detach", "item", "detach_")
_CASTS = ("float", "double", "half", "long", "int", "to", "type", "type_as")
_MODES = ("no_grad", "inference_mode")


def candidates(job: Job) -> Candidates:
    """The cut that was named; all cuts of its function; where none was named, each cut on the way to the step."""
    if job.remedy.form in (OTHER, THAW):
        yield from thawing.candidates(job)
        for source, statement in thawing.freezing(job) if job.remedy.form == THAW else ():
            line = facts.lines("lines", source.site(statement))
            for patch in _not_frozen(job, source, statement):
                yield replace(patch, form="on_line", facts=(facts.code("cut", "requires_grad_(False)"), line))
        return
    yield from _with_gradients_again(job)
    named = job.at(job.found.cut)
    places = [named] if named is not None else []
    if named is None or job.found.name != "history-cut":
        places += list(_on_the_way(job))
    if named is not None and "requires_grad" in named[0].code(named[1]):
        yield from thawing.candidates(job)  # the training of another network may need them frozen
    yield from _of_one_value(job)
    for source, statement in places:
        yield from _one_by_one(job, source, statement)
        yield from _switched_off(job, source, statement)
    if job.found.name != "history-cut":
        return  # other losses of the function may be cut on purpose
    for source, statement in places:
        yield from _all_of_the_function(job, source, statement)
    yield from thawing.candidates(job)


def _with_gradients_again(job: Job) -> Candidates:
    """A function without gradients calls a closure that needs them: `enable_grad` around that call."""
    for source, statement in job.places((job.found.cut, *job.found.ways.reused[:-1]), alone=True):
        function = source.function_of(statement)
        given = parameters_of(function) if isinstance(function, cst.FunctionDef) else []
        calls = [node for node in own_nodes(statement) if isinstance(node, cst.Call)]
        simple = isinstance(statement, cst.SimpleStatementLine) and is_without(source, statement)
        if simple and any(source.code(call.func) in given for call in calls):
            yield job.patch(source, source.under("with torch.enable_grad():", statement))


def is_without(source: Source, statement: Statement) -> bool:
    """Does a statement run under `no_grad`: in a block, or in a function that is decorated with it?"""
    for holder in source.ancestors(statement):
        if isinstance(holder, cst.With) and _mode(source, holder) is not None:
            return True
        if isinstance(holder, cst.FunctionDef):
            return any(True for _ in _decorators(source, holder))
    return False


def _on_the_way(job: Job) -> Iterator[Place]:
    """The statements that a step's loss is computed by, from the step upwards, and those of functions they call."""
    place = job.at(job.found.primary.site)
    if place is None:
        return
    source, step = place
    wanted: set[str] | None = None
    for statement in reversed(source.before(step)):
        if wanted is None:
            wanted = reads(source, statement) if pass_calls(statement) else None
        elif assigned_names(source, statement) & wanted:
            wanted |= reads(source, statement)
            yield source, statement
            yield from _called(job, source, statement)


def _called(job: Job, source: Source, statement: Statement) -> Iterator[Place]:
    """The statements of the program's own functions that a statement calls by name; of a module, its `forward`."""
    names = {called_name(source, node) for node in own_nodes(statement) if isinstance(node, cst.Call)}
    names |= {"forward", "__call__"} if names else set()
    for other in job.shop.sources():
        for each in other.statements:
            function = other.function_of(each)
            if isinstance(function, cst.FunctionDef) and function.name.value in names:
                yield other, each


def _of_one_value(job: Job) -> Candidates:
    """One value may be cut wherever it is read: `x.data / x.data.norm()`."""
    others = (label.site for label in job.found.secondary if label.role == "cut_too")
    places = list(job.places((job.found.cut, *others)))
    ways = [cut for source, statement in places for cut in list(_cuts(source, statement))[:1]]
    if 1 < len(ways) == len(places) and len({what for what, _ in ways}) == len({s.file for s, _ in places}) == 1:
        yield job.patch(places[0][0], *(edit for _, edit in ways))


def _one_by_one(job: Job, source: Source, statement: Statement) -> Candidates:
    for what, edit in _cuts(source, statement):
        line = source.text.count("\n", 0, edit.start) + 1
        told = facts.code("cut", what), facts.lines("lines", Site(source.file, line, line))
        said = ("on_line", told) if job.remedy.form == "on_line" else None
        yield job.patch(source, edit, said=said)


def _all_of_the_function(job: Job, source: Source, statement: Statement) -> Candidates:
    """A value may be cut twice on its way: `.tolist()`, then `torch.tensor(...)`."""
    for which in (0, -1):  # a call may be taken out in two ways: the tensor itself, or `torch.stack`
        edits: list[Edit] = []
        for node in (node for each in source.within(source.function_of(statement)) for node in own_nodes(each)):
            ways = [edit for _, edit in _calls(source, node)] if isinstance(node, cst.Call) else []
            if ways and all(ways[which].end <= e.start or ways[which].start >= e.end for e in edits):
                edits.append(ways[which])
        if len(edits) > 1:
            yield job.patch(source, *edits)


def _switched_off(job: Job, source: Source, statement: Statement) -> Candidates:
    """`set_grad_enabled(False)` that is not undone on every way out: let the function's end undo it."""
    function = source.function_of(statement)
    if "set_grad_enabled" in source.code(statement) and isinstance(function, cst.FunctionDef):
        switches = (each for each in source.within(function) if _is_switch(source, each) and source.alone(each))
        edits = [source.delete(each) for each in switches]
        edits.append(source.insert_before(function, "@torch.no_grad()"))
        yield job.patch(source, *edits)
    elif "requires_grad" in source.code(statement):
        yield from _not_frozen(job, source, statement)


def _not_frozen(job: Job, source: Source, statement: Statement) -> Candidates:
    """`requires_grad_(False)` that is never undone: the call of a function that only freezes goes, or the loop."""
    holder = source.holder(statement)
    whole = holder if isinstance(holder, cst.For) and source.body(holder) == [statement] else statement
    function = source.function_of(statement)
    if isinstance(function, cst.FunctionDef) and source.body(function) == [whole]:
        for other, call in _calls_of(job, function.name.value):
            yield job.patch(other, other.delete(call))
    made = isinstance(whole, cst.SimpleStatementLine) and not isinstance(whole.body[0], (cst.Expr, cst.Assign))
    if isinstance(whole, (cst.SimpleStatementLine, cst.For)) and not made and source.alone(whole):
        yield job.patch(source, source.delete(whole))


def _calls_of(job: Job, name: str) -> Iterator[Place]:
    """The lines that consist of a call of this function."""
    for source in job.shop.sources():
        for statement in source.statements:
            call = only_call(statement)
            if call is not None and source.alone(statement) and called_name(source, call) == name:
                yield source, statement


def _is_switch(source: Source, statement: Statement) -> bool:
    call = only_call(statement)
    return call is not None and source.code(call.func).endswith("set_grad_enabled")


def _cuts(source: Source, statement: Statement) -> Iterator[tuple[str, Edit]]:
    if isinstance(statement, cst.With) and _mode(source, statement) is not None:
        yield "no_grad", _unwrapped(source, statement)
    for node in own_nodes(statement):
        if isinstance(node, cst.Call):
            yield from _calls(source, node)
        elif isinstance(node, cst.Attribute) and node.attr.value == "data":
            yield ".data", source.replace(node, in_place_of(source, node, node.value))
    for holder in source.ancestors(statement):
        if isinstance(holder, cst.With) and _mode(source, holder) is not None:
            yield "no_grad", _unwrapped(source, holder)
        if isinstance(holder, cst.FunctionDef):
            yield from _decorators(source, holder)
            break


def _calls(source: Source, call: cst.Call) -> Iterator[tuple[str, Edit]]:
    function = call.func
    flag = keyword(call, "use_reentrant")
    if flag is not None and source.code(flag.value) == "True":
        yield "use_reentrant=True", source.replace(flag.value, "False")
    if called_name(source, call) in ("Variable", "Parameter") and call.args:
        yield source.code(function), source.replace(call, in_place_of(source, call, _uncut(call.args[0].value)))
    if not isinstance(function, cst.Attribute):
        return
    method = function.attr.value
    if method in _METHODS and not call.args:
        yield f".{method}()", source.replace(call, in_place_of(source, call, function.value))
    elif method == "sample" and not call.args:  # `random.sample(memory, 8)` cuts nothing
        yield ".sample()", source.replace(function.attr, "rsample")
    elif method in _CASTS and isinstance(function.value, cst.Comparison):
        yield "a comparison", source.replace(call, in_place_of(source, call, function.value.left))
    elif method == "tolist" and not call.args:
        yield ".tolist()", source.replace(call, in_place_of(source, call, function.value))
    elif method in ("tensor", "as_tensor", "Tensor", "FloatTensor") and call.args:
        first = call.args[0].value
        if not isinstance(first, (cst.List, cst.ListComp, cst.Tuple)):
            yield f"torch.{method}", source.replace(call, _inner(source, first))
        stacked = f"{wrapped(source, function.value)}.stack({source.code(first)})"
        yield f"torch.{method}", source.replace(call, stacked)


def _uncut(value: cst.BaseExpression) -> cst.BaseExpression:
    """`loss` of `loss.data` and of `loss.detach()`."""
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value in _METHODS:
        return _uncut(value.func.value)
    return _uncut(value.value) if isinstance(value, cst.Attribute) and value.attr.value == "data" else value


def _inner(source: Source, value: cst.BaseExpression) -> str:
    """`float(total)` inside of `torch.tensor(float(total))` is part of the cut."""
    if isinstance(value, cst.Call) and source.code(value.func) == "float" and len(value.args) == 1:
        return wrapped(source, value.args[0].value)
    return wrapped(source, value)


def _mode(source: Source, statement: cst.With) -> str | None:
    if len(statement.items) != 1:
        return None
    text = source.code(statement.items[0].item).split("(")[0].rsplit(".", 1)[-1]
    return text if text in _MODES else None


def _unwrapped(source: Source, statement: cst.With) -> Edit:
    """The body of a `with`, one level further out."""
    body = statement.body.body
    first = source.range(body[0]).start.line
    start, _ = source.lines(statement)
    inner = source.indent(body[0])  # type: ignore[arg-type]
    outer = source.indent(statement)
    _, end = source.lines(body[-1])  # type: ignore[arg-type]
    lines = source.text[source.offset(first, 0) : end].splitlines(keepends=True)
    return Edit(start, end, "".join(outer + line[len(inner) :] if line.startswith(inner) else line for line in lines))


def _decorators(source: Source, function: cst.FunctionDef) -> Iterator[tuple[str, Edit]]:
    for decorator in function.decorators:
        name = source.code(decorator.decorator).split("(")[0].rsplit(".", 1)[-1]
        if name in _MODES:
            start = source.offset(source.line(decorator), 0)
            yield f"@{name}", Edit(start, source.offset(source.range(decorator).end.line + 1, 0), "")
