"""`remove_retain`: take away `retain_graph=True` or `create_graph=True` that nothing needs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from afterward.repair.passes import pass_calls, without_keyword
from afterward.repair.source import Source, descendants
from afterward.repair.workshop import Candidates, Job


def candidates(job: Job) -> Candidates:
    flags = [job.remedy.target] if job.remedy.target in ("retain_graph", "create_graph") else []
    for source, statement in job.places((job.remedy.site, job.found.freed)):
        for call in pass_calls(statement):
            for flag in dict.fromkeys((*flags, "retain_graph", "create_graph")):
                edit = without_keyword(source, call, flag)
                if edit is not None:
                    yield job.patch(source, edit)
                yield from _entries(job, source, call, flag)


def _entries(job: Job, source: Source, call: cst.Call, flag: str) -> Candidates:
    """`loss.backward(**config)`: the entry of a dictionary, or the argument of `dict`, that holds the flag."""
    if not any(arg.star == "**" for arg in call.args):
        return
    for other in job.shop.sources():
        for value in _values(other, flag):
            if other.code(value) == "True":
                yield job.patch(other, other.replace(value, "False"))


def _values(source: Source, flag: str) -> Iterator[cst.BaseExpression]:
    for node in descendants(source.module):
        if isinstance(node, cst.DictElement) and isinstance(node.key, cst.SimpleString):
            yield from (node.value,) if node.key.evaluated_value == flag else ()
        elif isinstance(node, cst.Arg) and node.keyword is not None and node.keyword.value == flag:
            yield node.value
