"""`rebuild_optimizer`: an optimizer steps a model that was replaced; it gets the parameters of the new one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

import libcst as cst

from afterward.model import facts
from afterward.model.site import Site
from afterward.repair.edits import Edit
from afterward.repair.names import assignment, named, normal, root, targets
from afterward.repair.scopes import known_at
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """Copy the values into the model that is there, else create the optimizer again after the new model."""
    yield from _made_later(job)
    yield from _for_the_trained(job)
    place = job.at(job.remedy.site or job.found.built)
    if place is None or not place[0].alone(place[1]):
        return
    source, replacing = place
    made = assignment(replacing)
    if not isinstance(made, cst.Assign) or len(targets(replacing)) != 1:
        return
    model = source.code(targets(replacing)[0])
    copied = _copied(source, made.value)
    if copied is not None:
        start, end = source.span(replacing.body[0]) if isinstance(replacing, cst.SimpleStatementLine) else (0, 0)
        text = f"{model}.load_state_dict({copied}.state_dict())"
        yield job.patch(source, Edit(start, end, text))
    for optimizer in _optimizers(source, replacing, model):
        edit = source.insert_after(replacing, *source.dedented(optimizer))
        yield job.patch(source, edit)


def _made_later(job: Job) -> Candidates:
    """`opt = SGD(net.parameters())`, then `net.head = Linear(...)`: the optimizer is made when the model is whole.

    Where a statement replaces a part of it, after that one; else after the last that has to do with the model.
    """
    for source, statement, call in _made(job):
        unused = list(_until_used(source, statement, source.code(targets(statement)[0])))
        for test in (_replaces_part, _speaks_of):
            changing = [s for s in unused if any(test(source, s, model) for model in _models(source, call))]
            if changing:
                edits = (source.delete(statement), source.insert_after(changing[-1], *source.dedented(statement)))
                lines = source.line(statement), source.range(changing[-1]).end.line
                said = ("later", (facts.lines("line", Site(source.file, lines[1], lines[1])),))
                yield job.patch(source, *edits, said=said)


def _made(job: Job) -> Iterator[tuple[Source, Statement, cst.Call]]:
    """The statements that make the optimizer; any that make one, where none goes by its name: a function makes it."""
    made = [one for source in job.shop.sources() for one in _makers(source) if _models(source, one[2])]
    named_so = [one for one in made if _last_name(one[0].code(targets(one[1])[0])) == _last_name(job.remedy.target)]
    yield from named_so or made


def _makers(source: Source) -> Iterator[tuple[Source, Statement, cst.Call]]:
    for statement in source.statements:
        made = assignment(statement)
        if not isinstance(made, cst.Assign) or not source.alone(statement) or len(targets(statement)) != 1:
            continue
        if isinstance(made.value, cst.Call):
            yield source, statement, made.value


def _for_the_trained(job: Job) -> Candidates:
    """`Adam(target.parameters())` becomes `Adam(net.parameters())`: what the losses reach, and nothing holds."""
    reached = [name for fact in job.found.facts if fact.name == "instead" for name in fact.many]
    for source, statement, call in _made(job):
        known = known_at(source, statement)
        whole = _whole(reached)
        places = [whole, f"self.{whole.partition('.')[2]}" if "." in whole else ""]
        for model in (name for name in places if name and root(name) in known):
            edits = [
                source.replace(each.func.value, model)
                for each in descendants(call)
                if isinstance(each, cst.Call)
                and isinstance(each.func, cst.Attribute)
                and each.func.attr.value in ("parameters", "named_parameters")
            ]
            if len(edits) == 1:
                line = source.line(statement)
                said = ("trained", (facts.code("model", model), facts.lines("line", Site(source.file, line, line))))
                yield job.patch(source, *edits, said=said)


def _whole(names: list[str]) -> str:
    """The module that all these parameters are of: `net` of `net[0].bias` and `net.head.weight`."""
    parts = [re.findall(r"\.?\w+|\[[^\]]*\]", name)[:-1] for name in names]
    alike = takewhile(lambda each: len(set(each)) == 1, zip(*parts, strict=False))
    return "".join(each[0] for each in alike)


def _last_name(name: str) -> str:
    """An object's own name for what is seen from elsewhere: `opt` of `trainer.opt`."""
    return normal(name).split(".")[-1]


def _until_used(source: Source, statement: Statement, name: str) -> Iterator[Statement]:
    """The simple statements after this one, up to the first that reads its name, or that begins a block."""
    for each in source.after(statement):
        if any(True for _ in named(source, each, name)) or isinstance(each, (cst.For, cst.While)):
            return
        if isinstance(each, cst.SimpleStatementLine) and not isinstance(each.body[0], cst.Return):
            yield each


def _models(source: Source, call: cst.Call) -> set[str]:
    """`net` of `SGD(net.parameters())`."""
    receivers = (each.value for each in descendants(call) if isinstance(each, cst.Attribute))
    found = {source.code(each) for each in receivers if isinstance(each, (cst.Name, cst.Attribute, cst.Subscript))}
    return {each for each in found if f"{normal(each)}.parameters(" in normal(source.code(call))} or {
        each for each in found if f"{normal(each)}.named_parameters(" in normal(source.code(call))
    }


def _replaces_part(source: Source, statement: Statement, model: str) -> bool:
    """`net.head = ...`, `net[2] = ...`, `net = net.to(...)`."""
    found = (normal(source.code(target)) for target in targets(statement))
    return any(each == normal(model) or each.startswith((f"{normal(model)}.", f"{normal(model)}[")) for each in found)


def _speaks_of(source: Source, statement: Statement, model: str) -> bool:
    """`setattr(net, name, layer)`, `net.to(device)`, `replace_head(net)`."""
    return next(named(source, statement, model), None) is not None


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
