"""Names the values through which a failing pass came into the old part of its graph."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from afterward.follow import flow
from afterward.follow.crossing import Trail, names_crossing, place_of
from afterward.follow.cuts_without_effect import with_lost_cut
from afterward.follow.path import Place, Program
from afterward.follow.reading import targets
from afterward.model.history import Node, Value
from afterward.model.names import as_given_out, container_of, form_of, stem
from afterward.model.reuse import Entry, Reuse
from afterward.model.site import Where

WAYS = 8  # into the old part, that are given names


@dataclass(frozen=True, slots=True)
class Holder:
    """A name that holds a value when the pass fails."""

    name: str
    kind: str
    depth: int  # how many attributes or items away from a variable


class Bridges:
    """What holds a value now, and what was assigned it, as the program wrote it."""

    def __init__(
        self, sources: Program, path: list[Place], trail: Trail, statement_of: Callable[[Node], int | None]
    ) -> None:
        """`statement_of` gives the number of the statement that made a node."""
        self.sources = sources
        self.path = path
        self.trail = trail
        self.statement_of = statement_of

    def values(
        self,
        reuse: Reuse,
        began: int | None,
        holders: Callable[[Entry], Sequence[Holder]],
        *,
        completed: Callable[[Value], Value] = lambda value: value,
        otherwise: Callable[[Entry], list[Value]] = lambda entry: [],
    ) -> tuple[Value, ...]:
        """Names for the ways into the old part: what holds the value now, else what was assigned it.

        `began` is the moment at which the present iteration of the loop between the part and the pass began.
        `completed` adds to a name what only the one engine knows; `otherwise` is asked where nothing has a name.
        """
        executed: dict[int, int] = {}
        for place in self.path:
            executed.setdefault(place.number, place.moment)
        values: list[Value] = []
        parted = {entry.node.id for entry in reuse.entries if entry.output}
        for entry in reuse.entries[:WAYS]:
            consumer = entry.consumer.where if entry.consumer is not None else reuse.late.where
            reader, several = place_of(consumer, self.trail), entry.node.id in parted
            carried = names_crossing(self.trail, entry.node, entry.output, reader, began, several=several)
            renewed = began is not None and self._runs_since(entry.node, began)
            lent = self._lent_by_loops(consumer)
            near = sorted(holders(entry), key=lambda one: (one.name in lent, one.depth))
            held = [self._held(one, entry, consumer) for one in near]
            named = [_in_its_own_words(completed(value), carried) for value in held]
            named += [flow.restorable(self.sources, value, entry.node, consumer, executed) for value in carried]
            named = named or otherwise(entry)
            values += [replace(value, renewed=renewed or value.renewed) for value in named]
        ran = [one for one in map(self.sources.statement, executed) if one is not None]
        values = [_with_its_place(value, ran) for value in values]
        return tuple(self._with_lost_cut(value, reuse) for value in values)

    def _held(self, one: Holder, entry: Entry, consumer: Where | None) -> Value:
        made = entry.node.where
        name, given_out = one.name, as_given_out(one.name)
        reading = flow.read_site(self.sources, consumer, name)
        if reading is None and given_out != name:
            reading = flow.read_site(self.sources, consumer, given_out)
            name = given_out if reading is not None and reading.name == given_out else name
        level = flow.assigned_level(self.sources, made, {name, stem(name)}) if made is not None else None
        return Value(
            flow.as_read(name, reading.name) if reading is not None else name,
            one.kind,
            entry.node.id,
            entry.output,
            "held",
            site=reading.site if reading is not None else None,
            assigned=made.levels[level].site if made is not None and level is not None else None,
            level=level if level is not None else -1,
            read_at=reading.read_at if reading is not None else None,
            is_target=reading is not None and reading.is_target,
        )

    def _lent_by_loops(self, consumer: Where | None) -> set[str]:
        """Names that the loops around the reading statement give to what another name holds: `p` in `for p in ps`."""
        place = place_of(consumer, self.trail)
        statement = self.sources.statement(place.number) if place is not None else None
        if place is None or statement is None:
            return set()
        around = self.sources.around(self.sources.entry(place.number).file, statement)
        return {one.text for outer in around if isinstance(outer, ast.For) for one in targets(outer)}

    def _with_lost_cut(self, value: Value, reuse: Reuse) -> Value:
        made, late = reuse.entry.node.where, reuse.late.where
        if made is None or late is None:
            return value
        return with_lost_cut(value, self.trail, self.path, made.moment, late.moment)

    def _runs_since(self, node: Node, moment: int) -> bool:
        """Has the statement that made a node run again since?"""
        made = self.statement_of(node)
        return made is not None and any(p.number == made and p.moment >= moment for p in self.path)


def _with_its_place(value: Value, ran: list[ast.stmt]) -> Value:
    """With what the statements that ran put into its place, or into others of the same container."""
    form, whole = form_of(value.name), container_of(value.name)
    filled = {target.text for one in ran for target in targets(one) if form_of(target.text) == form}
    emptied = [one for one in ran if _gives_none(one) and any(target.text == whole for target in targets(one))]
    return replace(
        value,
        filled=len(filled) if form != value.name else 0,
        from_none=bool(emptied),
        of_parts=value.of_parts or any(_holds_several(one, value.name) for one in ran),
    )


def _holds_several(statement: ast.stmt, name: str) -> bool:
    """`state = (h, c)` and `h, c = state` say that `state` is a tuple."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    goal, value = statement.targets[0], statement.value
    whole, taken_apart = (goal, value) if isinstance(value, ast.Tuple) else (value, goal)
    return isinstance(taken_apart, ast.Tuple) and ast.unparse(whole) == name


def _gives_none(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
    return isinstance(value, ast.Constant) and value.value is None


def _in_its_own_words(held: Value, carried: list[Value]) -> Value:
    """What lies at `net.layers[1].state[4]` is, where the program writes of it, `self.state[-1]`."""
    if "]." not in held.name:
        return held
    for value in carried:
        if value.name.endswith("]") == held.name.endswith("]") and flow.same_place(value.name, held.name):
            return replace(held, name=value.name, site=value.site, read_at=value.read_at, is_target=value.is_target)
    return held
