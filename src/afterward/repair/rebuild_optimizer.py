"""`rebuild_optimizer`: an optimizer steps a model that was replaced; it gets the parameters of the new one."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from afterward.repair.edits import Edit
from afterward.repair.names import assignment, normal, reads, root, targets
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """Copy the values into the model that is there, else make the optimizer again behind the new model."""
    yield from _made_later(job)
    place = job.at(job.remedy.site or job.found.built)
    if place is None or not place[0].alone(place[1]):
        return
    source, replacing = place
    made = assignment(replacing)
    if not isinstance(made, cst.Assign) or len(targets(replacing)) != 1:
        return
    model = source.code(targets(replacing)[0])
    line = source.range(replacing).start.line
    copied = _copied(source, made.value)
    if copied is not None:
        start, end = source.span(replacing.body[0]) if isinstance(replacing, cst.SimpleStatementLine) else (0, 0)
        text = f"{model}.load_state_dict({copied}.state_dict())"
        yield job.patch(f"copy the values into `{model}` on line {line}", source, Edit(start, end, text))
    for optimizer in _optimizers(source, replacing, model):
        edit = source.insert_after(replacing, *source.dedented(optimizer))
        yield job.patch(f"create the optimizer again after line {line}", source, edit)


def _made_later(job: Job) -> Candidates:
    """`opt = SGD(net.parameters())`, then `net.head = Linear(...)`: the optimizer is made when the model is whole."""
    name = job.remedy.target
    for source in job.shop.sources():
        for statement in source.statements:
            made = assignment(statement)
            block = source.block_of(statement) or []
            if not isinstance(made, cst.Assign) or not source.alone(statement) or len(targets(statement)) != 1:
                continue
            if normal(source.code(targets(statement)[0])) != normal(name) or not isinstance(made.value, cst.Call):
                continue
            models = {root(model) for model in reads(source, made.value)}
            changing = [s for s in block[block.index(statement) + 1 :] if _replaces_part(source, s, models)]
            if not changing:
                continue
            between = block[block.index(statement) + 1 : block.index(changing[-1]) + 1]
            if any(root(name) in reads(source, each) for each in between):
                continue
            edits = (source.delete(statement), source.insert_after(changing[-1], *source.dedented(statement)))
            lines = source.range(statement).start.line, source.range(changing[-1]).end.line
            yield job.patch(f"move line {lines[0]} after line {lines[1]}", source, *edits)


def _replaces_part(source: Source, statement: Statement, models: set[str]) -> bool:
    """`net.head = ...`, `net[2] = ...`, `net = net.to(...)`, at the top of a block."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    return any(root(source.code(target)) in models for target in targets(statement))


def _copied(source: Source, value: cst.BaseExpression) -> str | None:
    """The model that `copy.deepcopy(model)` copies."""
    if isinstance(value, cst.Call) and source.code(value.func).endswith("deepcopy") and len(value.args) == 1:
        inner = value.args[0].value
        return source.code(inner) if isinstance(inner, (cst.Name, cst.Attribute, cst.Subscript)) else None
    return None


def _optimizers(source: Source, replacing: Statement, model: str) -> Iterator[Statement]:
    """The statements that make an optimizer of this model's parameters."""
    wanted = re.compile(rf"(?<![\w.]){re.escape(normal(model))}\.(named_)?parameters\(\)")
    for statement in source.statements:
        made = assignment(statement)
        if made is None or made.value is None or statement is replacing or not source.alone(statement):
            continue
        if isinstance(made.value, cst.Call) and wanted.search(normal(source.code(made.value))):
            yield statement
