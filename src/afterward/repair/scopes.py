"""What a name means where: is it known at a statement, and what does another function call the same thing?"""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import libcst as cst

from afterward.repair.names import assigned_names, root
from afterward.repair.passes import own_nodes
from afterward.repair.source import Source
from afterward.repair.workshop import Job


def imported(source: Source) -> set[str]:
    """The names that imports of a file bind, anywhere in it."""
    names: set[str] = set()
    for statement in source.statements:
        for part in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(part, (cst.Import, cst.ImportFrom)) and not isinstance(part.names, cst.ImportStar):
                for alias in part.names:
                    shown = alias.asname.name if alias.asname is not None else alias.name
                    names.add(root(source.code(shown)))
    return names


def module_names(source: Source) -> set[str]:
    """The names that a module has: functions, classes, imports, variables."""
    names = imported(source)
    for statement in source.module.body:
        if isinstance(statement, (cst.FunctionDef, cst.ClassDef)):
            names.add(statement.name.value)
        else:
            names |= assigned_names(source, statement)
    return names


def known_at(source: Source, node: cst.CSTNode) -> set[str]:
    """The plain names that code at a node can use."""
    names = module_names(source) | set(dir(builtins))
    for each in (node, *source.ancestors(node)):
        if isinstance(each, cst.FunctionDef):
            parameters = each.params
            every = (*parameters.params, *parameters.kwonly_params, *parameters.posonly_params)
            names |= {parameter.name.value for parameter in every}
            names |= assigned_names(source, each.body)
    return names


def names_at_loop(job: Job, source: Source, loop: cst.CSTNode, whole: str) -> Iterator[str]:
    """What the function of a loop calls a value: its own name for it, or the way through the calls it makes."""
    here = source.function_of(loop)
    if root(whole) in known_at(source, loop) and not _of_another_self(job, source, here, whole):
        yield whole
    if root(whole) == "self":
        yield from _through_calls(job, source, here, whole)


def _of_another_self(job: Job, source: Source, here: cst.CSTNode, whole: str) -> bool:
    """Is `self` there another object than the one that holds the value?"""
    if root(whole) != "self":
        return False
    site = job.found.bridge.site if job.found.bridge is not None else None
    reader = job.at(site)
    if reader is None:
        return False
    return _class_of(reader[0], reader[1]) is not _class_of(source, here)


def _class_of(source: Source, node: cst.CSTNode) -> cst.CSTNode | None:
    return next((each for each in (node, *source.ancestors(node)) if isinstance(each, cst.ClassDef)), None)


def _through_calls(job: Job, source: Source, here: cst.CSTNode, whole: str) -> Iterator[str]:
    """`self.state` of a method is `net.state` where `net(x)` or `net.forward(x)` is called."""
    levels = [job.at(site) for site in job.found.ways.built]
    start = next(
        (i for i, at in enumerate(levels) if at is not None and at[0] is source and source.function_of(at[1]) is here),
        None,
    )
    if start is None:
        return
    owners = [""]
    for at in levels[start:-1]:
        if at is None:
            return
        modules = imported(at[0])
        found = []
        for call in own_nodes(at[1]):
            if not isinstance(call, cst.Call):
                continue
            receiver = call.func.value if isinstance(call.func, cst.Attribute) else call.func
            if isinstance(receiver, (cst.Name, cst.Attribute, cst.Subscript)):
                text = at[0].code(receiver)
                if root(text) not in modules and text != "super":
                    own = text == "self" or text.startswith("self.")  # a method of the same object, or of a part of it
                    found += [o + text[4:] if o else text for o in owners if own or not o]
        owners = list(dict.fromkeys(found))[:4]
    for owner in owners:
        if owner:
            yield owner + whole[4:]
