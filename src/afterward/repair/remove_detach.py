"""`remove_detach`: take out a cut that goes too far."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.repair.edits import Edit
from afterward.repair.names import wrapped
from afterward.repair.passes import own_nodes
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job

_METHODS = ("detach", "item", "detach_")
_MODES = ("no_grad", "inference_mode")


def candidates(job: Job) -> Candidates:
    for site in dict.fromkeys((job.remedy.site, job.found.cut)):
        place = job.at(site)
        if place is None:
            continue
        source, statement = place
        for what, edit in _cuts(source, statement):
            line = source.text.count("\n", 0, edit.start) + 1
            yield job.patch(f"take out `{what}` on line {line}", source, edit)


def _cuts(source: Source, statement: Statement) -> Iterator[tuple[str, Edit]]:
    if isinstance(statement, cst.With) and _mode(source, statement) is not None:
        yield "no_grad", _unwrapped(source, statement)
    for node in own_nodes(statement):
        if isinstance(node, cst.Call):
            yield from _calls(source, node)
        elif isinstance(node, cst.Attribute) and node.attr.value == "data":
            yield ".data", source.replace(node, source.code(node.value))
    for holder in source.ancestors(statement):
        if isinstance(holder, cst.With) and _mode(source, holder) is not None:
            yield "no_grad", _unwrapped(source, holder)
        if isinstance(holder, cst.FunctionDef):
            yield from _decorators(source, holder)
            break


def _calls(source: Source, call: cst.Call) -> Iterator[tuple[str, Edit]]:
    function = call.func
    if not isinstance(function, cst.Attribute):
        return
    method = function.attr.value
    if method in _METHODS and not call.args:
        yield f".{method}()", source.replace(call, source.code(function.value))
    elif method in ("tensor", "as_tensor", "Tensor", "FloatTensor") and call.args:
        first = call.args[0].value
        if isinstance(first, (cst.List, cst.ListComp, cst.Tuple)):
            yield f"torch.{method}", source.replace(call, f"{source.code(function.value)}.stack({source.code(first)})")
        else:
            yield f"torch.{method}", source.replace(call, _inner(source, first))


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
            start = source.offset(source.range(decorator).start.line, 0)
            yield f"@{name}", Edit(start, source.offset(source.range(decorator).end.line + 1, 0), "")
