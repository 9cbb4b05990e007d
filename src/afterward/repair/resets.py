"""A state that a layer keeps, cut or reset by the layer's own method: `memory.detach()`, `lif.reset()`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.model.names import container_of
from afterward.repair.names import assigned_names, normal, targets
from afterward.repair.passes import method_of, own_nodes
from afterward.repair.scopes import known_at, parameters_of
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job

_CUTS = ("detach", "detach_")


def candidates(job: Job) -> Candidates:
    """Where a step begins, call the method of the class that renews the state, on every layer of that kind."""
    attribute = container_of(job.name).rsplit(".", 1)[-1] if "." in container_of(job.name) else ""
    taking = job.loop()
    if taking is None or not attribute:
        return
    source, loop, body = taking
    for method in _methods(job, attribute):
        for lines in _calls(job, source, loop, body[0], method):
            edit = source.insert_before(body[0], *lines)
            yield job.patch(source, edit) if method in _CUTS else job.begun_again(source, edit, lines[-1].strip())


def _methods(job: Job, attribute: str) -> list[str]:
    """Methods without arguments that give the attribute a new value, other than the one that computes with it."""
    found: list[str] = []
    for source in job.shop.sources():
        for statement in source.statements:
            function = source.function_of(statement)
            if not isinstance(function, cst.FunctionDef) or not isinstance(source.holder(function), cst.ClassDef):
                continue
            name = function.name.value
            renews = any(normal(source.code(t)) == f"self.{attribute}" for t in targets(statement))
            if renews and parameters_of(function) == ["self"] and not name.startswith("__"):
                found.append(name)
    return sorted(dict.fromkeys(found), key=lambda name: name not in _CUTS)


def _calls(job: Job, source: Source, loop: cst.CSTNode, first: Statement, method: str) -> Iterator[tuple[str, ...]]:
    """The program's own function that calls the method on each layer; else the object; else a loop over the modules."""
    known = known_at(source, first)
    called = [name for name in _called_in(source, loop) if name in known]
    for helper in _helpers(source, method):
        if helper in known:
            yield from ((f"{helper}({name})",) for name in called)
    owner = container_of(job.name).rsplit(".", 1)[0]
    if owner.split(".")[0].split("[")[0] in known and owner != "self":
        yield (f"{owner}.{method}()",)
    for name in called:
        unit = source.unit(first)
        yield (
            f"for module in {name}.modules():",
            f'{unit}if hasattr(module, "{method}"):',
            f"{unit}{unit}module.{method}()",
        )


def _called_in(source: Source, loop: cst.CSTNode) -> list[str]:
    """What the loop calls by a plain name or attribute: a model among them."""
    inner = [s for s in source.statements if loop in source.ancestors(s)]
    calls = [node for s in inner for node in own_nodes(s) if isinstance(node, cst.Call)]
    return list(dict.fromkeys(source.code(call.func) for call in calls if isinstance(call.func, cst.Name)))


def _helpers(source: Source, method: str) -> Iterator[str]:
    """Functions of the program with one parameter that call the method on something."""
    for statement in source.statements:
        function = source.function_of(statement)
        if not isinstance(function, cst.FunctionDef) or len(parameters_of(function)) != 1:
            continue
        if parameters_of(function) == ["self"] or assigned_names(source, statement):
            continue
        if any(method_of(node) == method for node in own_nodes(statement)):
            yield function.name.value
