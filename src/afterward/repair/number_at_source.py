"""A value that a function of the program's returns with its graph, for a log alone: it may as well return a number.

Where the log makes a number of it, the name that holds the value keeps its graph until the next iteration.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.repair.names import assignment, is_read, targets, wrapped
from afterward.repair.passes import own_nodes
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job, source: Source, stored: Statement, value: cst.BaseExpression, way: str) -> Candidates:
    """`.item()` where the one function that makes the value returns it, else where its result gets the name."""
    if not isinstance(value, cst.Name) or not _is_used_as_it_is(source, stored, value.value):
        return
    here = source.function_of(stored)
    giving = [each for each in source.within(here) if any(_is(target, value.value) for target in targets(each))]
    made = assignment(giving[0]) if len(giving) == 1 else None
    if not isinstance(made, cst.Assign) or not isinstance(made.value, cst.Call):
        return
    defined = list(job.shop.functions(_last(made.value.func)))
    if len(defined) != 1:
        return
    for home, text in (
        _returned(*defined[0], targets(giving[0]), value.value) if _is_called_once(job, made.value) else ()
    ):
        change = home.replace(text, f"{wrapped(home, text)}.{way}()")
        yield job.patch(home, change)
    if len(targets(giving[0])) == 1:
        change = source.replace(made.value, f"{wrapped(source, made.value)}.{way}()")
        yield job.patch(source, change)


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


def _returned(
    source: Source, function: cst.FunctionDef, given: list[cst.BaseExpression], name: str
) -> Iterator[tuple[Source, cst.BaseExpression]]:
    """What the only `return` of a function gives to this name."""
    returns = [node for node in descendants(function) if isinstance(node, cst.Return) and node.value is not None]
    if len(returns) != 1:
        return
    value = returns[0].value
    parts = [each.value for each in value.elements] if isinstance(value, cst.Tuple) else [value]
    if len(parts) == len(given):
        yield from ((source, part) for part, to in zip(parts, given, strict=True) if part is not None and _is(to, name))
