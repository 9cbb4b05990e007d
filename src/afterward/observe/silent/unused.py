"""Finds forward passes that no pass ever uses: a part of a loss that is left out of the sum, an evaluation that
records its operations, an output that is never used."""

from __future__ import annotations

import ast
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from afterward.follow.path import Place
from afterward.follow.reading import is_cut_off, reads
from afterward.model.history import LeftOut, Unused
from afterward.observe import compat
from afterward.observe.failure.walk import LOOK_NODES, saved_bytes, walk
from afterward.observe.node_numbers import order_of
from afterward.observe.provenance.naming import Held, Names
from afterward.observe.recording.events import PassSeen
from afterward.observe.replay.ended_run import EndedRun
from afterward.observe.silent.identities import Identities
from afterward.observe.silent.used_nodes import contains, meets

_READ_ALL = frozenset({"locals", "globals", "vars", "eval", "exec", "__all__"})
LATER = 2  # passes, all looked at, that must have come after a node before it counts as never used


@dataclass(slots=True)
class Part:
    """A named part of a loss with nodes of its own, as it was when another part of it was being used."""

    name: str
    used_part: str
    root: int
    nodes: int
    bytes: int
    applied: frozenset[int]  # addresses of the parameters that its own nodes take
    takers: tuple[int, ...]  # those nodes, by their order
    seen: PassSeen


def parts_left_out(names: Names, seen: PassSeen, since: int, numbers: Identities) -> Iterator[Part]:
    """Numbers with a graph that this pass does not use, next to one, in the same container, that it does use.

    `since` is the node counter at the pass before: what is older belongs to an earlier step.
    """
    groups: dict[str, list[Held]] = {}
    for held in names.held:
        if order_of(held.node) >= since and _is_number(held) and ("[" in held.name or held.depth == 0):
            groups.setdefault(re.sub(r"\[[^\]]*\]$", "", held.name) if held.depth else "", []).append(held)
    used = seen.used or array("Q")
    for name, members in groups.items():
        known = [held for held in members if contains(used, order_of(held.node))]
        others = [held for held in members if held not in known]
        for held in others if known else ():
            part = _part(held, known[0], seen, used)
            if part is not None and (name or _trains_its_own(part, seen, numbers)):
                yield part


def _trains_its_own(part: Part, seen: PassSeen, numbers: Identities) -> bool:
    """A variable beside the loss may be an evaluation, or a network that is not trained: it is a part of the loss if
    it has parameters of its own which an optimizer holds or another pass reached."""
    met = {numbers.at(leaf) for leaf in part.applied}
    return met != {None} and not met & (seen.leaves or set())


def _is_number(held: Held) -> bool:
    return compat.output_shape(held.node, held.output) in ((), (1,))


def _part(held: Held, sibling: Held, seen: PassSeen, used: array[int]) -> Part | None:
    found = walk([held.node], limit=LOOK_NODES)
    if len(found.inputs) < len(found.nodes):
        return None
    own: list[Any] = []
    applied: set[int] = set()
    takers: list[int] = []
    for node, inputs in zip(found.nodes, found.inputs, strict=True):
        order = order_of(node)
        if order == compat.LEAF_ORDER or contains(used, order):
            continue
        own.append(node)
        leaves = [found.nodes[place] for place, _ in inputs if order_of(found.nodes[place]) == compat.LEAF_ORDER]
        applied |= {id(getattr(leaf, "variable", None)) for leaf in leaves}
        takers += [order] if leaves else []
    if not applied or any(state == "freed" for node in own for _, state, _ in compat.saved_states(node)):
        return None  # only another view of what is used, or used already
    root = order_of(held.node)
    leaves = [node for node in found.nodes if order_of(node) == compat.LEAF_ORDER]
    size = saved_bytes([*own, *leaves])
    return Part(held.name, sibling.name, root, len(own), size, frozenset(applied), tuple(takers), seen)


def find_left_out(after: EndedRun, parts: list[Part]) -> Iterator[LeftOut]:
    """The parts that no pass has used, in any of the steps that were looked at."""
    used = _all_used(after)
    told: set[int] = set()
    called_on = _called_on(after)
    for part in parts:
        place = after.built_by(part.root)
        if place is None or place.number in told:
            continue
        if any(site != part.seen.site for site in called_on.get(part.name, ())):
            continue  # of another forward pass, by which a network gives both losses each time
        if all(contains(used, order) for order in part.takers):
            continue  # a sum of parts with a `backward()` each: all that it takes from parameters is used
        offset = part.root - place.order_at
        executions = [one for one in _executions(after, place.number) if one.certain]
        vain = [one for one in executions if not contains(used, one.place.order_at + offset)]
        where, spot = after.places.where(place), after.places.where(part.seen.place)
        if vain and len(vain) == len(executions) and where is not None and spot is not None:
            told.add(place.number)
            yield LeftOut(
                part.name,
                part.used_part,
                part.nodes,
                part.bytes,
                len(part.applied),
                where.dated_site,
                spot.dated_site,
                times=len(vain),
            )


def _called_on(after: EndedRun) -> dict[str, set[int]]:
    """What the statements of the passes read, as the program writes it, with the numbers of these statements."""
    found: dict[str, set[int]] = {}
    for site in {run.site for run in after.passes if run.site >= 0}:
        statement = after.places.sources.statement(site)
        for name in reads(statement) if statement is not None else ():
            found.setdefault(name.text, set()).add(site)
    return found


# Statements whose nodes no pass has used


@dataclass(slots=True)
class _Execution:
    place: Place
    end: int  # the node counter after it
    certain: bool  # would a pass that uses it have been seen?
    last: bool  # no pass came after it

    @property
    def nodes(self) -> int:
        return self.end - self.place.order_at


def find_unused(after: EndedRun) -> Iterator[Unused]:
    """Statements that build nodes each time they run, of which no pass has used any."""
    if not after.trail or not after.looked:
        return
    recorded, used = after.followed_nodes, _all_used(after)
    for number in sorted({place.number for place in after.trail}):
        executions = [one for one in _executions(after, number) if one.nodes > 0]
        # A statement whose value keeps its history may be used in another phase of the program, between two looks.
        unread = _unread(after, number)
        ends = bool(unread) or is_cut_off(getattr(after.places.sources.statement(number), "value", None))
        certain = [one for one in executions if one.last or (one.certain and ends)]
        where = after.places.where(certain[-1].place) if certain else None
        if where is None or any(meets(used, one.place.order_at, one.end) for one in executions):
            continue
        nodes = sum(one.nodes for one in executions)
        last = any(one.last for one in certain)
        yield Unused(where.site, len(executions), nodes, recorded, len(certain), last, unread)


def _unread(after: EndedRun, number: int) -> str:
    """The name that a statement gives its value, where nothing in its file reads that name."""
    statement, entry = after.places.sources.statement(number), after.places.table[number]
    if not isinstance(statement, ast.Assign):
        return ""
    given = [part for target in statement.targets for part in getattr(target, "elts", [target])]
    names = [part.id for part in given if isinstance(part, ast.Name)]
    read = names_read(after.places.sources.text(entry.file)) if len(names) == len(given) else None
    return names[0] if read is not None and not any(one in read or one.startswith("_") for one in names) else ""


@lru_cache(maxsize=64)
def names_read(text: str) -> frozenset[str] | None:
    """The names that a file reads anywhere; None where it may read any: by `locals()`, or as what it exports."""
    nodes = list(ast.walk(ast.parse(text)))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)}
    names |= {node.target.id for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)}
    names |= {name for node in nodes if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    return None if names & _READ_ALL else frozenset(names)


def _executions(after: EndedRun, number: int) -> list[_Execution]:
    """Every execution of a statement, in every call, with the nodes that it and what it called have made."""
    index = after.executions
    return [
        _Execution(
            place,
            follower.order_at,
            _certain(after, follower.order_at),
            _after_last(after, place.order_at),
        )
        for place, follower in index.get(number, ())
    ]


def _after_last(after: EndedRun, order: int) -> bool:
    return bool(after.passes) and order >= after.passes[-1].counter


def _certain(after: EndedRun, end: int) -> bool:
    """Were all passes looked at that came next? Or did none come any more?"""
    later = bisect_left(after.counters, end)
    following = after.passes[later : later + LATER]
    if not following:
        return True
    windows = {run.window for run in following}
    return len(following) == LATER and len(windows) == 1 and all(run.used is not None for run in following)


def _all_used(after: EndedRun) -> array[int]:
    return array("Q", sorted({order for run in after.looked for order in run.used or ()}))
