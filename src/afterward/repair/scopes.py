"""What a name means where: is it known at a statement, and what does another function call the same thing?"""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import libcst as cst

from afterward.repair.names import assigned_names, root
from afterward.repair.passes import called_name, own_nodes
from afterward.repair.source import FunctionBody, Source, Statement
from afterward.repair.workshop import Job, Place

_NAMED = (cst.Name, cst.Attribute, cst.Subscript)


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
        names |= own_names(source, each)
    return names


def own_names(source: Source, function: cst.CSTNode) -> set[str]:
    """The names of a function's own: its parameters, and what it gives a value to."""
    if not isinstance(function, cst.FunctionDef):
        return set()
    given = function.params
    every = (*given.params, *given.kwonly_params, *given.posonly_params)
    return {parameter.name.value for parameter in every} | assigned_names(source, function.body)


def parameters_of(function: cst.FunctionDef) -> list[str]:
    """The names of a function's parameters that are given by place."""
    every = (*function.params.posonly_params, *function.params.params)
    return [parameter.name.value for parameter in every]


def argument_for(
    source: Source, statement: Statement, function: cst.FunctionDef, name: str
) -> cst.BaseExpression | None:
    """What a statement hands to a function for one of its parameters."""
    for call in own_nodes(statement):
        if isinstance(call, cst.Call) and called_name(source, call) == function.name.value:
            found = _argument(call, function, name, isinstance(call.func, cst.Attribute))
            if found is not None:
                return found
    return None


def _argument(call: cst.Call, function: cst.FunctionDef, name: str, bound: bool) -> cst.BaseExpression | None:
    """What a call of a function hands it for a parameter; `bound`: the object comes before the first argument."""
    labelled = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == name]
    if labelled:
        return labelled[0]
    names = parameters_of(function)
    if names[:1] in (["self"], ["cls"]) and bound:
        names = names[1:]
    plain = [arg for arg in call.args if arg.keyword is None]
    if name in names and names.index(name) < len(plain) and not any(arg.star for arg in plain):
        return plain[names.index(name)].value
    return None


# One value, by the names of another function


def names_at_loop(job: Job, source: Source, loop: cst.CSTNode, whole: str) -> Iterator[str]:
    """What the function of a loop calls a value: its own name for it, or the way through the calls it makes."""
    here = source.function_of(loop)
    reader = job.at(job.reading)
    if reader is not None and reader[0].function_of(reader[1]) is not here:
        yield from _by_the_callers(job, here, reader, whole)
    if root(whole) in known_at(source, loop) and not _of_another_self(source, here, whole, reader):
        yield whole


def _of_another_self(source: Source, here: cst.CSTNode, whole: str, reader: Place | None) -> bool:
    """Is `self` there another object than the one that holds the value?"""
    if root(whole) != "self" or reader is None:
        return False
    return _class_of(*reader) is not _class_of(source, here)


def _class_of(source: Source, node: cst.CSTNode) -> cst.CSTNode | None:
    return next((each for each in (node, *source.ancestors(node)) if isinstance(each, cst.ClassDef)), None)


def _by_the_callers(job: Job, here: FunctionBody, reader: Place, whole: str) -> Iterator[str]:
    """From the function that reads the value out to the one of the loop, call by call: `self.state` of a method is
    `env.state` where `env.step(u)` is called, and that is what the caller hands over as `env`."""
    levels = [at for site in job.found.ways.built if (at := job.at(site)) is not None]
    functions = [each.function_of(statement) for each, statement in levels]
    inner = reader[0].function_of(reader[1])
    if here not in functions or inner not in functions[functions.index(here) :]:
        return
    names = [whole]
    first, last = functions.index(here), len(functions) - 1 - functions[::-1].index(inner)
    for (source, statement), function in zip(
        levels[first:last][::-1], functions[first + 1 : last + 1][::-1], strict=True
    ):
        if isinstance(function, cst.FunctionDef):
            names = [new for name in names for new in _by_the_caller(source, statement, function, name)]
            names = list(dict.fromkeys(names))[:4]
    yield from names


def _by_the_caller(source: Source, statement: Statement, function: cst.FunctionDef, name: str) -> Iterator[str]:
    """What a statement that calls a function calls a value that goes by `name` in there."""
    first, rest = root(name), name[len(root(name)) :]
    parameters = parameters_of(function)
    if first not in parameters:
        if first in known_at(source, statement):  # of the module, or of a function around
            yield name
        return
    modules = imported(source)
    method = parameters[0] == "self"
    for node in own_nodes(statement):
        owner = _receiver(source, node, function) if method else None
        text = source.code(owner) if owner is not None else ""
        if first == "self" and method:
            if text and root(text) not in modules and text != "super()":
                yield text + rest
        elif isinstance(node, cst.Call) and (text or called_name(source, node) == function.name.value):
            given = _argument(node, function, first, method)
            if isinstance(given, _NAMED):
                yield source.code(given) + rest


def _receiver(source: Source, node: cst.CSTNode, function: cst.FunctionDef) -> cst.BaseExpression | None:
    """The object whose method a node calls: `net` of `net.step(x)`, of `net(x)` for its `forward`, of a property."""
    name = function.name.value
    if isinstance(node, cst.Attribute) and node.attr.value == name and isinstance(node.value, _NAMED):
        return node.value if not isinstance(source.parent(node), cst.Call) else None
    if not isinstance(node, cst.Call):
        return None
    if isinstance(node.func, cst.Attribute) and node.func.attr.value == name:
        return node.func.value if isinstance(node.func.value, _NAMED) else None
    called = isinstance(node.func, _NAMED) and "(" not in source.code(node.func)  # `net(x).relu()` calls no network
    return node.func if name in ("forward", "__call__") and called else None
