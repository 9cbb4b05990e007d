"""A value that a function of the program's returns with its graph, for a log alone: it may as well return a number.

Where the log makes a number of it, the name that holds the value keeps its graph until the next iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from afterward.repair.edits import Patch
from afterward.repair.names import assignment, is_read, targets, wrapped
from afterward.repair.passes import own_nodes
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job, source: Source, stored: Statement, value: cst.BaseExpression, way: str) -> Candidates:
    """`.item()` where the one function that makes the value returns it, else where its result gets the name."""
    if isinstance(value, cst.Call):
        yield from _given_back(job, value, way)
    if not isinstance(value, cst.Name) or not _is_used_as_it_is(source, stored, value.value):
        return
    here = source.function_of(stored)
    giving = [each for each in source.within(here) if any(_is(target, value.value) for target in targets(each))]
    made = assignment(giving[0]) if len(giving) == 1 else None
    if not isinstance(made, cst.Assign) or not isinstance(made.value, cst.Call):
        return
    given = targets(giving[0])
    parts = [(home, part) for home, parts in _returns(job, made.value) for part in parts]
    for (home, text), to in zip(parts, given, strict=True) if len(parts) == len(given) else ():
        if _is(to, value.value):
            yield _as(job, home, [text], way)
    if len(given) == 1 and len(list(job.shop.functions(_last(made.value.func)))) == 1:
        change = source.replace(made.value, f"{wrapped(source, made.value)}.{way}()")
        yield job.patch(source, change)


def _given_back(job: Job, call: cst.Call, way: str) -> Candidates:
    """What a call returns is stored as it is: all that it returns by name becomes numbers, else one of them."""
    for home, parts in _returns(job, call):
        named = [part for part in parts if isinstance(part, (cst.Name, cst.Attribute, cst.Subscript))]
        for several in (named, *([one] for one in named)) if named and len(parts) > 1 else ():
            yield _as(job, home, several, way)


def _as(job: Job, home: Source, parts: Sequence[cst.BaseExpression], way: str) -> Patch:
    edits = [home.replace(part, f"{wrapped(home, part)}.{way}()") for part in parts]
    return job.patch(home, *edits)


def _is(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name


def _is_used_as_it_is(source: Source, stored: Statement, name: str) -> bool:
    """Does the function do nothing with it that only a tensor can do: `loss.backward()`, `losses[0]`?"""
    read = (node for each in source.within(source.function_of(stored)) for node in own_nodes(each) if _is(node, name))
    parents = ((node, source.parent(node)) for node in read)
    return not any(isinstance(above, (cst.Attribute, cst.Subscript)) and above.value is node for node, above in parents)


def _last(node: cst.CSTNode) -> str:
    """`train_step` of `self.train_step`."""
    return getattr(getattr(node, "attr", node), "value", "")


def _is_called_once(job: Job, call: cst.Call) -> bool:
    """Does the program speak of this function in one place only?"""
    wanted, spoken = _last(call.func), 0
    for source in job.shop.sources():
        names = (node for each in source.statements for node in own_nodes(each))
        spoken += sum(_is(node, wanted) and _is_spoken(source, node) for node in names)
    return spoken == 1


def _is_spoken(source: Source, node: cst.CSTNode) -> bool:
    parent = source.parent(node)
    return is_read(source, node) or (isinstance(parent, cst.Attribute) and parent.attr is node)


def _returns(job: Job, call: cst.Call) -> Iterator[tuple[Source, list[cst.BaseExpression]]]:
    """The parts of what the only `return` of a function gives back, where the program calls it in one place only."""
    defined = list(job.shop.functions(_last(call.func)))
    for source, function in defined if len(defined) == 1 and _is_called_once(job, call) else ():
        returns = [node for node in descendants(function) if isinstance(node, cst.Return) and node.value is not None]
        value = returns[0].value if len(returns) == 1 else None
        if value is not None:
            yield source, [each.value for each in value.elements] if isinstance(value, cst.Tuple) else [value]
