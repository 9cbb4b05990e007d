"""A loss that compares a network with a target made by the same network: the target is data, all of it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.repair.names import assigned_names, assignment, named, plain_names, reads, targets
from afterward.repair.passes import own_nodes
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """`loss = (q(s) - target)`, where `target` comes of `q(next)`: `target` is detached where the loss reads it."""
    place = job.at(job.reading)
    if place is None:
        return
    source, reading = place
    for loss, target in _compared(source, reading):
        edits = [source.replace(node, f"{target}.detach()") for node in named(source, loss, target)]
        if edits:
            yield job.patch(source, *edits)


def _compared(source: Source, reading: Statement) -> Iterator[tuple[Statement, str]]:
    """(the statement that compares, the name of the target), following the value from where it is read."""
    block = source.block_of(reading) or []
    if reading not in block:
        return
    following: set[str] = set()
    through: set[str] = set()
    for statement in block[block.index(reading) :]:
        goes_on = statement is reading or reads(source, statement) & following
        if not goes_on:
            continue
        others = {name for name in reads(source, statement) if name not in following}
        calls = _called(source, statement)
        made_by = {call for s in block for call in _called(source, s) if assigned_names(source, s) & others}
        compares = statement is not reading and bool(through & (calls | made_by)) and _subtracts(statement)
        if compares:
            for name in sorted(following & reads(source, statement)):
                yield statement, name
            return
        if not isinstance(assignment(statement), cst.Assign) or len(targets(statement)) != 1:
            return
        following |= set(plain_names(targets(statement)[0]))
        through |= calls


def _called(source: Source, statement: Statement) -> set[str]:
    return {source.code(node.func) for node in own_nodes(statement) if isinstance(node, cst.Call)}


def _subtracts(statement: Statement) -> bool:
    """Two values against each other: a difference, or a loss function of two."""
    return any(
        (isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Subtract))
        or (isinstance(node, cst.Call) and len(node.args) >= 2)
        for node in own_nodes(statement)
    )
