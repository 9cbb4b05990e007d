"""A value that a constructor computes once becomes a property: it is then computed each time it is wanted."""

from __future__ import annotations

import builtins
from dataclasses import dataclass

import libcst as cst

from afterward.repair.edits import Edit
from afterward.repair.names import assigned_names, assignment, breaks_off, named, normal, reads, targets
from afterward.repair.scopes import imported, module_names, parameters_of
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job, Place


@dataclass(frozen=True)
class Attribute:
    """An attribute that a constructor gives a value, with the statements before it that only make that value."""

    name: str
    statement: Statement
    value: cst.BaseExpression
    steps: tuple[Statement, ...]


def candidates(job: Job, makers: list[Place]) -> Candidates:
    """`self.prior = Normal(self.mean, self.log.exp())` in `__init__` becomes a property.

    So do, at once, those that are made of what it is made of: they hold a part of the same graph.
    """
    for source, maker in makers:
        function = source.function_of(maker)
        if not isinstance(function, cst.FunctionDef) or function.name.value != "__init__":
            continue
        attributes = _attributes(source, function)
        for one in attributes:
            if _makes_a_part(source, one.value):
                continue
            if maker is one.statement or maker in one.steps:
                kin = [other for other in attributes if other is one or {*map(id, other.steps)} & {*map(id, one.steps)}]
                for group in [kin, [one]] if len(kin) > 1 else [[one]]:
                    yield job.patch(source, *_edits(source, function, group))


def _makes_a_part(source: Source, value: cst.BaseExpression) -> bool:
    """Does it call a class of networks: are there parameters in it, which an optimizer is to hold?"""
    called = source.code(value.func) if isinstance(value, cst.Call) else ""
    classes = (each for each in source.statements if isinstance(each, cst.ClassDef) and each.name.value == called)
    return any("Module" in source.code(base.value) for each in classes for base in each.bases)


def _attributes(source: Source, function: cst.FunctionDef) -> list[Attribute]:
    body = source.body(function) or []
    known = {"self", *dir(builtins)} | module_names(source) | imported(source) | _kept(source, function).keys()
    found = []
    for place, statement in enumerate(body):
        name, value = _given(source, statement)
        steps = _steps(source, body[:place], value, known) if value is not None else None
        if value is not None and steps is not None and not _set_elsewhere(source, statement, f"self.{name}"):
            found.append(Attribute(name, statement, value, tuple(steps)))
    return found


def _given(source: Source, statement: Statement) -> tuple[str, cst.BaseExpression | None]:
    """The attribute of `self` that a statement gives a value to, also as a buffer, and that value."""
    made = assignment(statement)
    aims = targets(statement)
    if isinstance(made, cst.Assign) and len(aims) == 1:
        name = source.code(aims[0])
        return (name[5:], made.value) if name.startswith("self.") and name[5:].isidentifier() else ("", None)
    part = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    call = part.value if isinstance(part, cst.Expr) else None
    if not isinstance(call, cst.Call) or source.code(call.func) != "self.register_buffer" or len(call.args) < 2:
        return "", None
    first = call.args[0].value
    name = first.raw_value if isinstance(first, cst.SimpleString) else ""
    return (name, call.args[1].value) if name.isidentifier() else ("", None)


def _steps(
    source: Source, before: list[Statement], value: cst.BaseExpression, known: set[str]
) -> list[Statement] | None:
    """The statements that make the local names which a value is computed with; None where one of these is not known."""
    wanted, steps = reads(source, value) - known, list[Statement]()
    for statement in reversed(before):
        made = assigned_names(source, statement)
        if not made & wanted:
            continue
        simple = isinstance(assignment(statement), cst.Assign) and source.alone(statement)
        if not simple or any(not isinstance(aim, cst.Name) for aim in targets(statement)):
            return None
        steps.insert(0, statement)
        wanted = (wanted - made) | (reads(source, statement) - known)
    return None if wanted else steps


def _edits(source: Source, function: cst.FunctionDef, group: list[Attribute]) -> list[Edit]:
    kept = _kept(source, function)
    unit = source.indent(group[0].statement)[len(source.indent(function)) :]
    gone = {id(one.statement): one.statement for one in group}
    steps = {id(step): step for one in group for step in one.steps}
    lines: list[str] = []
    for one in group:
        value = _renamed(source, one.value, kept)
        value = f"({value})" if breaks_off(value) else value
        inner = [line for step in one.steps for line in _renamed_lines(source, step, kept)]
        lines += ["", "@property", f"def {one.name}(self):", *(unit + line for line in inner), f"{unit}return {value}"]
    left = [each for each in source.body(function) or [] if id(each) not in gone]
    for number, step in sorted(steps.items(), key=lambda each: source.range(each[1]).start.line, reverse=True):
        names = assigned_names(source, step)
        if not any(reads(source, each) & names for each in left if each is not step):
            gone[number] = step
            left = [each for each in left if each is not step]
    edits = [source.delete(each) for each in gone.values()] if left else [_emptied(source, function)]
    return [*edits, source.insert_after(function, *lines)]


def _emptied(source: Source, function: cst.FunctionDef) -> Edit:
    body = source.body(function) or []
    start, end = source.lines(body[0])[0], source.lines(body[-1])[1]
    return Edit(start, end, f"{source.indent(body[0])}pass{source.newline}")


def _renamed(source: Source, node: cst.BaseExpression, kept: dict[str, str]) -> str:
    return _with(source, node, source.code(node), source.span(node)[0], kept)


def _renamed_lines(source: Source, step: Statement, kept: dict[str, str]) -> list[str]:
    start, end = source.lines(step)
    text = _with(source, step, source.text[start:end].rstrip(), start, kept)
    indent = source.indent(step)
    return [line[len(indent) :] if line.startswith(indent) else line for line in text.splitlines()]


def _with(source: Source, node: cst.CSTNode, text: str, begin: int, kept: dict[str, str]) -> str:
    """A text in which the constructor's parameters go by the attributes that keep them."""
    places = [(source.span(each), other) for one, other in kept.items() for each in named(source, node, one)]
    for (start, end), other in sorted(places, reverse=True):  # the last first: the places before it stay
        text = text[: start - begin] + other + text[end - begin :]
    return text


def _kept(source: Source, function: cst.FunctionDef) -> dict[str, str]:
    """The parameters that a constructor keeps as they are: `self.classes` for `classes`."""
    given = set(parameters_of(function))
    found: dict[str, str] = {}
    for each in source.within(function):
        made, aims = assignment(each), targets(each)
        if not isinstance(made, cst.Assign) or len(made.targets) != 1:
            continue
        values = [made.value]
        if isinstance(made.value, cst.Tuple) and len(made.value.elements) == len(aims):
            values = [element.value for element in made.value.elements]
        for aim, value in zip(aims, values, strict=False):
            if isinstance(value, cst.Name) and value.value in given and source.code(aim).startswith("self."):
                found[value.value] = source.code(aim)
    return found


def _set_elsewhere(source: Source, maker: Statement, name: str) -> bool:
    others = (s for s in source.statements if s is not maker)
    return any(normal(source.code(target)) == normal(name) for s in others for target in targets(s))
