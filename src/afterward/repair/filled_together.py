"""Lists that a loss is computed from side by side: the log-probabilities of an episode, and its rewards.

What was collected together is dropped together: a list that is emptied next to one that is not goes with old entries.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.repair.names import assigned_names, is_read, normal, plain_names, reads, root, targets
from afterward.repair.passes import only_call, own_nodes
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Job

_FILLING = ("append", "extend", "insert", "appendleft", "add")
_EMPTYING = ("clear",)


def beside(job: Job, source: Source, backward: Statement, name: str) -> list[str]:
    """What a loss is computed from beside this list, that is filled as it is, and never emptied."""
    filled, emptied = set[str](), set[str]()
    for each in job.shop.sources():
        for statement in each.statements:
            filled |= {_last(text) for text in _called_on(each, statement, _FILLING)}
            emptied |= {_last(text) for text in _emptied(each, statement)}
    read = (text for statement in _forming(source, backward) for text in _lists_read(source, statement))
    known = {normal(name)}
    found: list[str] = []
    for text in read:
        if _last(text) in filled - emptied and normal(text) not in known:
            known.add(normal(text))
            found.append(text)
    return found


def _last(text: str) -> str:
    return normal(text).rsplit(".", 1)[-1]


def _called_on(source: Source, statement: Statement, methods: tuple[str, ...]) -> Iterator[str]:
    """`policy.rewards` of `policy.rewards.append(reward)`."""
    call = only_call(statement)
    if call is not None and isinstance(call.func, cst.Attribute) and call.func.attr.value in methods:
        yield source.code(call.func.value)


def _emptied(source: Source, statement: Statement) -> Iterator[str]:
    """What a statement empties, or gives a new value to where that may happen more than once."""
    yield from _called_on(source, statement, _EMPTYING)
    part = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    if isinstance(part, cst.Del):
        goal = part.target
        for one in [e.value for e in goal.elements] if isinstance(goal, (cst.Tuple, cst.List)) else [goal]:
            yield source.code(one.value if isinstance(one, cst.Subscript) else one)
    function = source.function_of(statement)
    made_once = isinstance(function, cst.Module) or getattr(function, "name", None) is None
    made_once = made_once or (isinstance(function, cst.FunctionDef) and function.name.value == "__init__")
    if not made_once or source.loops_around(statement):
        yield from (source.code(target) for target in targets(statement))


def _forming(source: Source, backward: Statement) -> list[Statement]:
    """The statements of a pass's function, or of its loop, that the loss is computed by; heads of loops, too."""
    loops, function = source.loops_around(backward), source.function_of(backward)
    home = loops[-1] if loops else function
    last = source.line(backward)
    near = [s for s in source.statements if source.line(s) < last and home in source.ancestors(s)]
    near = [s for s in near if source.function_of(s) is function]
    wanted, found = reads(source, backward), list[Statement]()
    grew = True
    while grew:
        new = [s for s in near if s not in found and _gives(source, s) & wanted]
        for statement in new:
            wanted |= reads(source, statement.iter if isinstance(statement, cst.For) else statement)
        found += new
        grew = bool(new)
    return found


def _gives(source: Source, statement: Statement) -> set[str]:
    """The plain names that get a value, or one more entry."""
    if isinstance(statement, cst.For):
        return plain_names(statement.target)
    if not isinstance(statement, cst.SimpleStatementLine):
        return set()
    return assigned_names(source, statement) | {root(text) for text in _called_on(source, statement, _FILLING)}


def _lists_read(source: Source, statement: Statement) -> Iterator[str]:
    for node in own_nodes(statement):
        if isinstance(node, (cst.Name, cst.Attribute)) and is_read(source, node):
            parent = source.parent(node)
            filling = isinstance(parent, cst.Attribute) and parent.value is node and parent.attr.value in _FILLING
            if not filling:
                yield source.code(node)
