"""Writes that a module makes on being called: `inplace=True` of an activation, `max_norm` of an embedding."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.repair.edits import Edit
from afterward.repair.passes import keyword, own_nodes, without_keyword
from afterward.repair.source import Source, Statement
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    """Let the module make a new tensor; else let the operation that needs the old values have a copy of them."""
    place = job.at(job.found.written)
    if place is None or not _calls_something(place[1]):
        return
    flags = list(_flags(job))
    for source, edit in flags:
        yield job.patch(source, edit)
    if len(flags) > 1 and len({source.file for source, _ in flags}) == 1:
        yield job.patch(flags[0][0], *(edit for _, edit in flags))
    built = job.at(job.found.built)
    if built is not None:
        yield from _with_a_clone(job, *built)


def _calls_something(statement: Statement) -> bool:
    return any(isinstance(node, cst.Call) for node in own_nodes(statement))


def _flags(job: Job) -> Iterator[tuple[Source, Edit]]:
    """Every `inplace=True` of the program."""
    for source in job.shop.sources("inplace"):
        for call in (node for each in source.statements for node in own_nodes(each) if isinstance(node, cst.Call)):
            flag, edit = keyword(call, "inplace"), without_keyword(source, call, "inplace")
            if flag is not None and edit is not None and source.code(flag.value) == "True":
                yield source, edit


def _with_a_clone(job: Job, source: Source, statement: Statement) -> Candidates:
    """`mix(self.emb.weight)` becomes `mix(self.emb.weight.clone())`: the name may be another where it is read."""
    owner = job.name.rsplit(".", 1)[-1]
    for node in own_nodes(statement):
        text = source.code(node) if isinstance(node, cst.Attribute) and node.attr.value == "weight" else ""
        if text and text.split(".")[-2] == owner:
            edit = source.replace(node, f"{text}.clone()")
            yield job.patch(source, edit)
