"""A value that was stored in a record next to what it was computed from: compute it again where it is read.

`buffer.append(Step(state, value))` with `value = critic(state)` makes `critic(step.state)` of `step.value`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from afterward.repair.names import assignment, is_read, reads, targets
from afterward.repair.passes import own_nodes
from afterward.repair.scopes import known_at
from afterward.repair.source import Source, Statement, descendants
from afterward.repair.workshop import Candidates, Job, Place, Workshop

Stored = dict[str, str]  # the program's name of a value: the field it is stored in


def candidates(job: Job, makers: list[Place]) -> Candidates:
    for source, maker in makers:
        made = assignment(maker)
        goal = targets(maker)[0] if isinstance(made, cst.Assign) and len(targets(maker)) == 1 else None
        if made is None or made.value is None or not isinstance(goal, cst.Name):
            continue
        for stored, by_key in _records(job, source, maker, goal.value):
            yield from _read_again(job, source, made.value, stored, stored[goal.value], by_key)


def _read_again(
    job: Job, source: Source, value: cst.BaseExpression, stored: Stored, field: str, by_key: bool
) -> Candidates:
    """Where the field is read from some record, what made it, with the fields of that very record."""
    backward = job.at(job.found.reused)
    if backward is None or backward[0] is not source:
        return
    edits = []
    for statement in source.within(source.function_of(backward[1])):
        for node in own_nodes(statement):
            owner = _owner(source, node, field, by_key)
            if owner is None or not reads(source, value) <= known_at(source, statement) | set(stored):
                continue
            edits.append(source.replace(node, _in_words_of(source, value, owner, stored, by_key)))
    if edits:
        yield job.patch(source, *edits)


def _owner(source: Source, node: cst.CSTNode, field: str, by_key: bool) -> str | None:
    """The record that a field is read from."""
    if by_key and isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name):
        inner = source.code(node)[len(node.value.value) :].strip("[]\"'")
        return node.value.value if inner == field and is_read(source, node) else None
    if not by_key and isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name):
        return node.value.value if node.attr.value == field and is_read(source, node) else None
    return None


def _in_words_of(source: Source, value: cst.BaseExpression, owner: str, stored: Stored, by_key: bool) -> str:
    start, _ = source.bare_span(value)
    text = source.code(value)
    names = [n for n in (value, *descendants(value)) if isinstance(n, cst.Name) and n.value in stored]
    for name in sorted(names, key=lambda n: -source.bare_span(n)[0]):
        if is_read(source, name):
            first, last = (place - start for place in source.bare_span(name))
            field = stored[name.value]
            text = text[:first] + (f'{owner}["{field}"]' if by_key else f"{owner}.{field}") + text[last:]
    return f"({text})" if "\n" in text else text  # it may have gone over several lines within brackets of its own


# Records


def _records(job: Job, source: Source, maker: Statement, name: str) -> Iterator[tuple[Stored, bool]]:
    """(what is stored in which field, by key or by attribute) of each record that takes the value up."""
    for node in (node for each in source.within(source.function_of(maker)) for node in own_nodes(each)):
        found = _stored(job, source, node)
        if found is not None and name in found[0]:
            yield found


def _stored(job: Job, source: Source, node: cst.CSTNode) -> tuple[Stored, bool] | None:
    if isinstance(node, cst.Dict):
        pairs = [e for e in node.elements if isinstance(e, cst.DictElement) and isinstance(e.value, cst.Name)]
        texts = {source.code(e.value): source.code(e.key).strip("\"'") for e in pairs}
        return texts, True
    if not isinstance(node, cst.Call):
        return None
    labelled = {a.value.value: a.keyword.value for a in node.args if a.keyword and isinstance(a.value, cst.Name)}
    kind = source.code(node.func)
    fields = _fields(job.shop, kind) or _named_tuple(job, kind)
    plain = [a.value for a in node.args if a.keyword is None and not a.star]
    placed = {v.value: f for v, f in zip(plain, fields, strict=False) if isinstance(v, cst.Name)}
    return ({**placed, **labelled}, kind == "dict" or not fields) if placed or labelled else None


def _named_tuple(job: Job, kind: str) -> list[str]:
    """The fields of `T = namedtuple("T", "state value")`, wherever it is made."""
    for source in job.shop.sources():
        found = re.search(rf"^{re.escape(kind)}\s*=.*namedtuple\([^,]+,\s*(.+?)\)", source.text, re.M)
        if found:
            return re.findall(r"\w+", found[1])
    return []


def _fields(shop: Workshop, name: str) -> list[str]:
    """The fields of a record class of the program (a NamedTuple or dataclass)."""
    for source in shop.sources(rf"class {re.escape(name)}"):
        for each in source.statements:
            if isinstance(each, cst.ClassDef) and each.name.value == name and isinstance(each.body, cst.IndentedBlock):
                lines = [s.body[0] for s in each.body.body if isinstance(s, cst.SimpleStatementLine)]
                notes = [line for line in lines if isinstance(line, cst.AnnAssign)]
                return [line.target.value for line in notes if isinstance(line.target, cst.Name)]
    return []
