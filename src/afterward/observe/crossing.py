"""Finds the name under which a value came along, by following reads back through the statements that ran.

The value was made by one statement and is read by another. In between it may have been put into an attribute, a
list, a tuple or another name. The first name, going back, that was given the value when it was made (or after that,
before the present step began) is the one that carried it.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from afterward.model.history import Node, Value
from afterward.model.site import Level, Where
from afterward.observe.replay import Place
from afterward.observe.sources import Name, Sources, reads, stem, targets

BUDGET = 400  # reads followed


@dataclass(frozen=True, slots=True)
class _Reading:
    """A name read by one execution of a statement."""

    name: Name
    at: Place
    distance: int


class Trail:
    """The statements that ran, indexed by what they assigned."""

    def __init__(self, sources: Sources, places: Sequence[Place]) -> None:
        self.sources = sources
        self.by_call: dict[int, list[Place]] = {}
        self.children: dict[tuple[int, int], list[int]] = {}
        self.plain: dict[tuple[int, str], list[Place]] = {}  # (call, name)
        self.kept: dict[str, list[Place]] = {}  # last part of an attribute or item
        for place in places:
            mine = self.by_call.setdefault(place.call, [])
            if mine and mine[-1].moment == place.moment:
                continue
            if not mine and place.caller is not None:
                self.children.setdefault((place.caller.call, place.caller.moment), []).append(place.call)
            mine.append(place)
            self._index(place)

    def _index(self, place: Place) -> None:
        for target in self.targets(place):
            if target.is_plain:
                self.plain.setdefault((place.call, target.text), []).append(place)
            if not target.is_plain or self._grows(place):
                self.kept.setdefault(stem(target.text), []).append(place)

    def _grows(self, place: Place) -> bool:
        return isinstance(self.sources.statement(place.number), ast.Expr)

    def targets(self, place: Place) -> list[Name]:
        statement = self.sources.statement(place.number)
        return targets(statement) if statement is not None else []

    def reads(self, place: Place) -> list[Name]:
        statement = self.sources.statement(place.number)
        return reads(statement) if statement is not None else []

    def parameters(self, place: Place) -> set[str]:
        """The parameters of the function that a place is in."""
        entry = self.sources.statements.table[place.number]
        statement = self.sources.statement(place.number)
        for outer in self.sources.around(entry.file, statement) if statement is not None else ():
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
                arguments = outer.args
                every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
                return {argument.arg for argument in every}
        return set()

    def assigned_before(self, name: Name, reader: Place) -> Place | None:
        """The last execution before the reader of a statement that gave this name a value."""
        if not name.is_plain:
            return _last_before(self.kept.get(stem(name.text), []), reader.moment)
        call: Place | None = reader
        while call is not None:  # in the same call, else in those around it: a closure reads its maker's names
            own = _last_before(self.plain.get((call.call, name.text), []), reader.moment)
            grown = _last_before(self.kept.get(name.text, []), reader.moment)
            if own is not None or grown is not None:
                return max((p for p in (own, grown) if p is not None), key=lambda place: place.moment)
            call = call.caller
        return None

    def returns(self, place: Place) -> list[Place]:
        """The return statements of what a statement called, the last call first."""
        found = []
        for call in reversed(self.children.get((place.call, place.moment), [])):
            for inner in reversed(self.by_call.get(call, [])):
                if isinstance(self.sources.statement(inner.number), (ast.Return, ast.Expr)):
                    found.append(inner)
                    break
        return found


def _last_before(places: list[Place], moment: int) -> Place | None:
    for place in reversed(places):
        if place.moment < moment:
            return place
    return None


def names_crossing(
    trail: Trail, node: Node, output: int, consumer: Place | None, step_began: int | None
) -> list[Value]:
    """Names that carried the node's value to its consumer, best first: nearest, and surely given that value."""
    if node.where is None or consumer is None:
        return []
    made = {(level.call, level.moment): depth for depth, level in enumerate(node.where.levels)}
    born = node.where.moment
    sure: list[Value] = []
    likely: list[Value] = []
    seen: set[tuple[int, int, str]] = set()
    todo: deque[_Reading] = deque()
    for distance, place in enumerate(reversed(consumer.chain())):
        todo.extend(_Reading(name, place, distance) for name in trail.reads(place))
    for _ in range(BUDGET):
        if not todo:
            break
        reading = todo.popleft()
        key = (reading.at.call, reading.at.moment, reading.name.text)
        if key in seen:
            continue
        seen.add(key)
        giver = trail.assigned_before(reading.name, reading.at)
        if giver is None or giver.moment < min(level.moment for level in node.where.levels):
            if reading.name.is_plain and reading.at.caller is not None:
                if reading.name.text in trail.parameters(reading.at):
                    todo.extend(
                        _Reading(n, reading.at.caller, reading.distance) for n in trail.reads(reading.at.caller)
                    )
            continue
        depth = made.get((giver.call, giver.moment))
        if depth is not None:
            target = _target(trail, giver, reading.name, node, output)
            if target is not None:
                sure.append(_value(trail, reading, target, node, output, depth))
            continue
        if step_began is not None and giver.moment < step_began and giver.moment > born:
            likely.append(_value(trail, reading, reading.name, node, output, -1))
        for place in (giver, *trail.returns(giver)):
            todo.extend(_Reading(name, place, reading.distance + 1) for name in trail.reads(place))
    return sure + likely or _memoised(trail, node, consumer, output)


def _target(trail: Trail, giver: Place, name: Name, node: Node, output: int) -> Name | None:
    """The target of the making statement that is read; of a split, only the part that is meant."""
    found = trail.targets(giver)
    splitting = node.op.startswith(("Split", "Unbind", "Chunk"))
    for position, target in enumerate(found):
        same = target.text == name.text or (not target.is_plain and stem(target.text) == stem(name.text))
        if same and not (splitting and len(found) > 1 and position != output):
            return target
    return None


def _value(trail: Trail, reading: _Reading, name: Name, node: Node, output: int, depth: int) -> Value:
    entry = trail.sources.statements.table[reading.at.number]
    assert node.where is not None
    return Value(
        name.text,
        "global" if name.is_plain and not entry.function else name.kind,
        node.id,
        output,
        how="carried",
        site=trail.sources.site_of(entry.file, reading.name.node),
        assigned=node.where.levels[depth].site if depth >= 0 else None,
        level=depth,
        read_at=reading.at.moment,
    )


def _memoised(trail: Trail, node: Node, consumer: Place, output: int) -> list[Value]:
    """A function that was called again and did not run again: its first result was kept for it."""
    assert node.where is not None
    functions = {level.function.split(".")[-1] for level in node.where.levels if level.function}
    for place in reversed(consumer.chain()):
        for name in trail.reads(place):
            if stem(name.text) in functions and not _ran(trail, place, stem(name.text)):
                return [_value(trail, _Reading(name, place, 0), name, node, output, -1)]
    return []


def _ran(trail: Trail, place: Place, function: str) -> bool:
    table = trail.sources.statements.table
    calls = trail.children.get((place.call, place.moment), [])
    return any(table[trail.by_call[call][0].number].function.split(".")[-1] == function for call in calls)


def level_place(levels: tuple[Level, ...], trail: Trail) -> Place | None:
    """The execution that the innermost level stands for."""
    last = levels[-1]
    for place in reversed(trail.by_call.get(last.call, [])):
        if place.moment == last.moment:
            return place
    return None


def place_of(where: Where | None, trail: Trail) -> Place | None:
    return level_place(where.levels, trail) if where is not None else None
