"""Finds the name under which a value came along, by following reads back through the statements that ran.

The value was made by one statement and is read by another. In between it may have been put into an attribute, a
list, a tuple or another name. The first name, going back, that was given the value when it was made (or after that,
before the present step began) is the one that carried it.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from afterward.follow.apart import all_apart
from afterward.follow.nodes import FUNCTIONS
from afterward.follow.path import Place, Program
from afterward.follow.reading import Name, is_target, last_name, reads, sets, targets
from afterward.model.history import Node, Value
from afterward.model.names import stem
from afterward.model.operations import SPLITTING, operation
from afterward.model.site import Level, Where

BUDGET = 400  # reads followed
RECEIVERS = ("self", "cls")  # what a method calls the object that it is of


@dataclass(frozen=True, slots=True)
class _Reading:
    """A name read by one execution of a statement."""

    name: Name
    at: Place


class Trail:
    """The statements that ran, indexed by what they assigned."""

    def __init__(self, sources: Program, places: Sequence[Place], gap: int | None = None) -> None:
        """`gap` is the moment from which on something is missing, if anything is."""
        self.sources = sources
        self.gap = gap
        self.by_call: dict[int, list[Place]] = {}
        self.children: dict[tuple[int, int], list[int]] = {}
        self.plain: dict[tuple[int, str], list[Place]] = {}  # (call, name)
        self.kept: dict[str, list[Place]] = {}  # last part of an attribute or item
        self._assigned: dict[int, tuple[list[str], list[str]]] = {}
        self._elsewhere: dict[tuple[int, str], bool] = {}  # (statement, name)
        self._shared_names: dict[ast.stmt, set[str]] = {}
        for place in places:
            mine = self.by_call.setdefault(place.call, [])
            if mine and mine[-1].moment == place.moment:
                continue
            if not mine and place.caller is not None:
                self.children.setdefault((place.caller.call, place.caller.moment), []).append(place.call)
            mine.append(place)
            self._index(place)

    def pairs(self, places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
        """Each place of a call with the one that came next."""
        for place, follower in pairwise(places):
            if self.gap is None or not place.moment < self.gap <= follower.moment:
                yield place, follower

    def _index(self, place: Place) -> None:
        plain, kept = self._assigned.get(place.number) or self._assigns(place)
        for name in plain:
            self.plain.setdefault((place.call, name), []).append(place)
        for name in kept:
            self.kept.setdefault(name, []).append(place)

    def _assigns(self, place: Place) -> tuple[list[str], list[str]]:
        """The names that a statement gives a value: those of its own call, and what outlives that."""
        found = self.targets(place)
        plain = [target.text for target in found if target.is_plain]
        grows, shared = self.grows(place), self._shared(place) if plain else set[str]()
        kept = [target.text for target in found if not target.is_plain or grows or target.text in shared]
        kept = sorted({name for text in kept for name in _kept_as(text)})
        self._assigned[place.number] = (plain, kept)
        return plain, kept

    def _shared(self, place: Place) -> set[str]:
        """Names that the function around a place shares with others: declared `nonlocal` or `global`."""
        entry = self.sources.entry(place.number)
        statement = self.sources.statement(place.number)
        for outer in self.sources.around(entry.file, statement) if statement is not None else ():
            if isinstance(outer, FUNCTIONS):
                if outer not in self._shared_names:
                    declared = (n for n in ast.walk(outer) if isinstance(n, (ast.Nonlocal, ast.Global)))
                    self._shared_names[outer] = {name for declaration in declared for name in declaration.names}
                return self._shared_names[outer]
        return set()

    def grows(self, place: Place) -> bool:
        """Does the statement put something into a container, as `log.append(x)` does?"""
        statement = self.sources.statement(place.number)
        return statement is not None and (isinstance(statement, ast.Expr) or sets(statement))

    def gives(self, place: Place, name: Name) -> bool:
        """Does the statement give this very name its value, not an item of it?"""
        return not self.grows(place) and any(target.text == name.text for target in self.targets(place))

    def targets(self, place: Place) -> list[Name]:
        statement = self.sources.statement(place.number)
        return targets(statement) if statement is not None else []

    def reads(self, place: Place) -> list[Name]:
        statement = self.sources.statement(place.number)
        return reads(statement) if statement is not None else []

    def parameters(self, place: Place) -> list[str]:
        """The parameters of the function that a place is in."""
        entry = self.sources.entry(place.number)
        statement = self.sources.statement(place.number)
        for outer in self.sources.around(entry.file, statement) if statement is not None else ():
            if isinstance(outer, FUNCTIONS):
                arguments = outer.args
                every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
                every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
                return [argument.arg for argument in every]
        return []

    def assigned_before(self, name: Name, reader: Place) -> Place | None:
        """The last execution before the reader of a statement that gave this name a value."""
        if not name.is_plain:
            givers = [self._last_kept(each, name, reader.moment) for each in _kept_as(name.text)]
            return max((one for one in givers if one is not None), key=lambda place: place.moment, default=None)
        call: Place | None = reader
        while call is not None:  # in the same call, else in those around it: a closure reads its maker's names
            own = _last_before(self.plain.get((call.call, name.text), []), reader.moment)
            grown = _last_before(self.kept.get(name.text, []), reader.moment)
            if own is not None or grown is not None:
                return max((p for p in (own, grown) if p is not None), key=lambda place: place.moment)
            call = call.caller
        return None

    def _last_kept(self, each: str, name: Name, moment: int) -> Place | None:
        """The last before a moment that put something where this name may read it."""
        for place in reversed(self.kept.get(each, [])):
            if place.moment < moment and not self._is_elsewhere(place, name):
                return place
        return None

    def _is_elsewhere(self, place: Place, name: Name) -> bool:
        """Does a statement put something into other items than the one that is read?"""
        key = (place.number, name.text)
        if key not in self._elsewhere:
            given = self.targets(place)
            self._elsewhere[key] = bool(given) and all_apart(given, name)
        return self._elsewhere[key]

    def returns(self, place: Place) -> list[Place]:
        """The return statements of what a statement called, the last call first."""
        found = []
        for call in reversed(self.children.get((place.call, place.moment), [])):
            for inner in reversed(self.by_call.get(call, [])):
                if isinstance(self.sources.statement(inner.number), (ast.Return, ast.Expr)):
                    found.append(inner)
                    break
        return found


def put_into(trail: Trail, made: Place) -> Name | None:
    """The attribute or item that was given what an execution computed, as the program writes it: `g.edata["a"]`.

    At once, by what it was returned to, or by a later statement of the same call (`g.edata["a"] = weights`).
    """
    place: Place | None = made
    while place is not None and isinstance(trail.sources.statement(place.number), ast.Return):
        place = place.caller
    given = trail.targets(place) if place is not None else []
    if place is None or len(given) != 1 or not given[0].is_plain:
        return given[0] if len(given) == 1 else None
    later = (one for one in trail.by_call.get(place.call, ()) if one.moment > place.moment)
    for one in later:
        statement, found = trail.sources.statement(one.number), trail.targets(one)
        value = statement.value if isinstance(statement, ast.Assign) else None
        if isinstance(value, ast.Name) and value.id == given[0].text and len(found) == 1 and not found[0].is_plain:
            return found[0]
        if any(target.text == given[0].text for target in found):
            break
    return None


def _kept_as(text: str) -> set[str]:
    """The names under which others may read what is put there: of the container, and of what it is in there."""
    return {stem(text), last_name(text)}


def _last_before(places: list[Place], moment: int) -> Place | None:
    for place in reversed(places):
        if place.moment < moment:
            return place
    return None


def names_crossing(
    trail: Trail, node: Node, output: int, consumer: Place | None, step_began: int | None, *, several: bool = False
) -> list[Value]:
    """Names that carried the node's value to its consumer, best first. `several`: the node has further outputs.

    Best is the name that the making statement itself assigned; then one that was given the value later and before
    the present step began. Both must be read in the present step, where there is one.
    """
    if node.where is None or consumer is None:
        return []
    search = _Search(trail, node, output, step_began, several)
    for place in reversed(consumer.chain()):
        search.read_by(place)
    for place in trail.returns(consumer):  # what a helper gives out within the very statement
        search.read_by(place)
    search.run()
    found = _items_first(search.sure) + _items_first(search.likely) or _items_first(search.vague)
    if found and all(value.name in RECEIVERS for value in found):
        found = [_as_made(trail, node, found[0])]
    return found or _memoised(trail, node, consumer, output)


def _as_made(trail: Trail, node: Node, value: Value) -> Value:
    """By the name that the making statement assigned, where nothing but the object of a method has one."""
    levels = node.where.levels if node.where is not None else ()
    made = level_place(levels, trail) if levels else None
    given = trail.targets(made) if made is not None else []
    if len(given) != 1 or given[0].text in RECEIVERS:
        return value
    return replace(value, name=given[0].text, kind=given[0].kind, assigned=levels[-1].site, level=len(levels) - 1)


def _items_first(values: list[Value]) -> list[Value]:
    """`memory["h"]` says more than `memory` does."""
    return sorted(values, key=lambda value: any(other.name.startswith(f"{value.name}[") for other in values))


class _Search:
    def __init__(self, trail: Trail, node: Node, output: int, step_began: int | None, several: bool) -> None:
        assert node.where is not None
        self.trail = trail
        self.node = node
        self.output = output
        self.several = several
        self.step_began = step_began
        self.made = {(level.call, level.moment): depth for depth, level in enumerate(node.where.levels)}
        self.born = node.where.moment
        self.earliest = min(level.moment for level in node.where.levels)
        self.sure: list[Value] = []
        self.likely: list[Value] = []
        self.vague: list[Value] = []  # where nothing else has a name
        self.seen: set[tuple[int, int, str]] = set()
        self.todo: deque[_Reading] = deque()

    def read_by(self, place: Place) -> None:
        self.todo.extend(_Reading(name, place) for name in self.trail.reads(place))

    def run(self) -> None:
        for _ in range(BUDGET):
            if not self.todo:
                return
            reading = self.todo.popleft()
            key = (reading.at.call, reading.at.moment, reading.name.text)
            if key not in self.seen:
                self.seen.add(key)
                self._follow(reading)

    def _follow(self, reading: _Reading) -> None:
        giver = self.trail.assigned_before(reading.name, reading.at)
        if giver is None or giver.moment < self.earliest:
            self._follow_argument(reading)
            return
        depth = self.made.get((giver.call, giver.moment))
        if depth is not None:
            innermost = depth + 1 == len(self.node.where.levels) if self.node.where is not None else False
            parted = operation(self.node.op) in SPLITTING or (self.several and innermost)
            target = _target(self.trail, giver, reading.name, self.output if parted else None)
            if target is not None:
                if reading.name.kind == "item" and self.trail.grows(giver):
                    target = reading.name  # it was put into a container: the item that is read says more
                found = self.vague if self._is_seen_inside(giver) else self.sure
                found.append(_value(self.trail, reading, target, self.node, self.output, depth))
        elif self.step_began is not None and self.born < giver.moment < self.step_began:
            if self._comes_from_making(giver):
                self.likely.append(_value(self.trail, reading, reading.name, self.node, self.output, -1))
        else:
            for place in (giver, *self.trail.returns(giver)):
                self.read_by(place)

    def _is_seen_inside(self, giver: Place) -> bool:
        """`self.update(x)`, which ran statements of the program's: they say into what it has put something."""
        called = self.trail.children.get((giver.call, giver.moment))
        return bool(called) and isinstance(self.trail.sources.statement(giver.number), ast.Expr)

    def _follow_argument(self, reading: _Reading) -> None:
        caller = reading.at.caller
        if reading.name.is_plain and caller is not None and reading.name.text in self.trail.parameters(reading.at):
            self.read_by(caller)

    def _comes_from_making(self, giver: Place) -> bool:
        """Going further back from what an earlier statement assigned, does one come to the making statement?"""
        todo, seen = [giver], set()
        for _ in range(60):
            if not todo:
                return False
            place = todo.pop()
            if (place.call, place.moment) in self.made:
                return True
            for source in (place, *self.trail.returns(place)):
                for name in self.trail.reads(source):
                    before = self.trail.assigned_before(name, source)
                    if before is None and source.caller is not None and name.text in self.trail.parameters(source):
                        before = source.caller
                    if before is not None and before.moment >= self.earliest and before.moment not in seen:
                        seen.add(before.moment)
                        todo.append(before)
        return False


def _target(trail: Trail, giver: Place, name: Name, part: int | None) -> Name | None:
    """The target of the making statement that is read; of an operation with several outputs, only the one meant."""
    found = trail.targets(giver)
    for position, target in enumerate(found):
        same = target.text == name.text or (not target.is_plain and _kept_as(target.text) & _kept_as(name.text))
        if same and (part is None or len(found) == 1 or position == part):
            return target
    return None


def _value(trail: Trail, reading: _Reading, name: Name, node: Node, output: int, depth: int) -> Value:
    entry = trail.sources.entry(reading.at.number)
    assert node.where is not None
    return Value(
        name.text,
        "global" if name.is_plain and not entry.function else name.kind,
        node.id,
        output,
        how="carried",
        site=trail.sources.site_of(trail.sources.file_at(entry.file, reading.at.moment), reading.name.node),
        assigned=node.where.levels[depth].site if depth >= 0 else None,
        level=depth,
        read_at=reading.at.moment,
        is_target=is_target(trail.sources.statement(reading.at.number), reading.name.node),
    )


def _memoised(trail: Trail, node: Node, consumer: Place, output: int) -> list[Value]:
    """A function that was called again and did not run again: its first result was kept for it."""
    assert node.where is not None
    functions = {level.function.split(".")[-1] for level in node.where.levels if level.function}
    for place in reversed(consumer.chain()):
        for name in trail.reads(place):
            if stem(name.text) in functions and not _ran(trail, place, stem(name.text)):
                return [_value(trail, _Reading(name, place), name, node, output, -1)]
    return []


def _ran(trail: Trail, place: Place, function: str) -> bool:
    calls = trail.children.get((place.call, place.moment), [])
    return any(trail.sources.entry(trail.by_call[call][0].number).function.split(".")[-1] == function for call in calls)


def level_place(levels: tuple[Level, ...], trail: Trail) -> Place | None:
    """The execution that the innermost level stands for."""
    last = levels[-1]
    for place in reversed(trail.by_call.get(last.call, [])):
        if place.moment == last.moment:
            return place
    return None


def place_of(where: Where | None, trail: Trail) -> Place | None:
    return level_place(where.levels, trail) if where is not None else None
