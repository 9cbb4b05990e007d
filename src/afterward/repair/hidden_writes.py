"""Writes that a module makes on being called: `inplace=True` of an activation, `max_norm` of an embedding."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.model.site import Site
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
        line = source.text.count("\n", 0, edit.start) + 1
        yield job.patch(f"drop `inplace=True` on line {line}", source, edit)
    if len(flags) > 1 and len({source.file for source, _ in flags}) == 1:
        yield job.patch("drop `inplace=True` everywhere", flags[0][0], *(edit for _, edit in flags))
    built = job.at(job.found.built)
    if built is not None:
        yield from _with_a_clone(job, *built)


def _calls_something(statement: Statement) -> bool:
    return any(isinstance(node, cst.Call) for node in own_nodes(statement))


def _flags(job: Job) -> Iterator[tuple[Source, Edit]]:
    """Every `inplace=True` of the program."""
    for file, text in job.shop.texts.items():
        source = job.shop.source(Site(file, 1, 1)) if "inplace" in text else None
        for statement in source.statements if source is not None else ():
            assert source is not None
            for node in own_nodes(statement):
                flag = keyword(node, "inplace") if isinstance(node, cst.Call) else None
                if isinstance(node, cst.Call) and flag is not None and source.code(flag.value) == "True":
                    edit = without_keyword(source, node, "inplace")
                    if edit is not None:
                        yield source, edit


def _with_a_clone(job: Job, source: Source, statement: Statement) -> Candidates:
    """`mix(self.emb.weight)` becomes `mix(self.emb.weight.clone())`: the name may be another where it is read."""
    owner = job.name.rsplit(".", 1)[-1]
    line = source.range(statement).start.line
    for node in own_nodes(statement):
        text = source.code(node) if isinstance(node, cst.Attribute) and node.attr.value == "weight" else ""
        if text and text.split(".")[-2] == owner:
            edit = source.replace(node, f"{text}.clone()")
            yield job.patch(f"compute with a clone of `{text}` on line {line}", source, edit)
