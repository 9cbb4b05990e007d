"""Names the values through which a failing pass came into the old part of its graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from afterward.model.clock import mark_moment
from afterward.model.history import History, Node, Value
from afterward.model.names import form_of, stem
from afterward.model.reuse import Entry, Reuse
from afterward.model.site import Where
from afterward.observe import compat
from afterward.observe.failure.walk import Walk
from afterward.observe.marks.userfiles import is_user_file
from afterward.observe.provenance import flow
from afterward.observe.provenance.crossing import Trail, names_crossing, place_of
from afterward.observe.provenance.cuts_without_effect import with_lost_cut
from afterward.observe.provenance.naming import Held, Names
from afterward.observe.provenance.owners import own_reset
from afterward.observe.provenance.sources import Sources
from afterward.observe.replay.replay import Place

WAYS = 8  # into the old part, that are given names


class Bridges:
    """What holds a value now, and what was assigned it, as the program wrote it."""

    def __init__(self, sources: Sources, trail: list[Place], paths: Trail, places: Mapping[int, Place]) -> None:
        self.sources = sources
        self.trail = trail
        self.paths = paths
        self.places = places  # of the nodes, by their order

    def values(self, reuse: Reuse, names: Names, found: Walk) -> tuple[Value, ...]:
        """Names for the ways into the old part: what holds the value now, else what was assigned it."""
        executed: dict[int, int] = {}
        for place in self.trail:
            executed.setdefault(place.number, place.moment)
        began = self._began(reuse)
        values: list[Value] = []
        for entry in reuse.entries[:WAYS]:
            raw = found.nodes[entry.node.id]
            consumer = entry.consumer.where if entry.consumer is not None else reuse.late.where
            holders = [one for one in names.held if one.node is raw and one.output == entry.output]
            carried = names_crossing(self.paths, entry.node, entry.output, place_of(consumer, self.paths), began)
            renewed = began is not None and self._runs_since(entry.node, began)
            named = [self._held(one, entry, consumer) for one in sorted(holders, key=lambda h: h.depth)]
            named = [_in_its_own_words(self._with_alike(value, names, found, began), carried) for value in named]
            named += [flow.restorable(self.sources, value, entry.node, consumer, executed) for value in carried]
            named = named or self._kept_by_library(entry, reuse, names, found)
            values += [replace(value, renewed=renewed or value.renewed) for value in named]
        return tuple(self._with_lost_cut(value, reuse) for value in values)

    def _kept_by_library(self, entry: Entry, reuse: Reuse, names: Names, found: Walk) -> list[Value]:
        """The attribute of a library's object whose value this step has renewed from the old one.

        The old value has no name any more, and no statement of the program's has carried it. What holds now what the
        same operation has made of it in this step is what held it.
        """
        fresh = {found.nodes[number]: number for number in reuse.fresh}
        renewed = [one for one in names.held if one.node in fresh and one.depth and one.output == entry.output]
        same = [one for one in renewed if one.node.name() == found.nodes[entry.node.id].name()]
        for one in sorted(same, key=lambda held: (compat.order_of(held.node), held.depth, held.name)):
            if entry.node.id in _below(found, fresh[one.node]):
                owner = one.name.rpartition(".")[0]
                reset = own_reset(names.kinds.get(owner), is_user_file)
                call = f"{owner}.{reset}()" if reset else ""
                kept = Value(one.name, "attribute", entry.node.id, entry.output, "carried", renewed=True)
                return [replace(kept, own_reset=call)]
        return []

    def links(self, history: History, reuse: Reuse) -> frozenset[tuple[int, int]]:
        """The earlier pass and the later one, where the gradients that the first gave feed the second."""
        early = reuse.early
        if early is None or early.where is None or early.call != "grad":
            return frozenset()
        later = [history.node(n) for n in reuse.fresh if history.node(n).moment > early.moment]
        feeds = flow.result_feeds(self.sources, early.where, later, self.trail)
        return frozenset({(early.id, reuse.late.id)}) if feeds else frozenset()

    def _held(self, one: Held, entry: Entry, consumer: Where | None) -> Value:
        made = entry.node.where
        reading = flow.read_site(self.sources, consumer, one.name)
        level = flow.assigned_level(self.sources, made, {one.name, stem(one.name)}) if made is not None else None
        return Value(
            flow.as_read(one.name, reading.name) if reading is not None else one.name,
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

    def _with_alike(self, value: Value, names: Names, found: Walk, began: int | None) -> Value:
        """With what else this pass walks of the same memory, and an earlier step has put there."""
        form = form_of(value.name)
        if form == value.name:
            return value
        beside = [found.position.get(one.node) for one in names.held if form_of(one.name) == form]
        old = (node for node in beside if node is not None and not self._is_of_now(found.nodes[node], began))
        return replace(value, alike=frozenset(old))

    def _is_of_now(self, node: Any, began: int | None) -> bool:
        """Was it made in the present step? Then it is still to be trained through."""
        place = self.places.get(compat.order_of(node))
        return began is not None and place is not None and place.moment >= began

    def _with_lost_cut(self, value: Value, reuse: Reuse) -> Value:
        made, late = reuse.entry.node.where, reuse.late.where
        if made is None or late is None:
            return value
        return with_lost_cut(value, self.paths, self.trail, made.moment, late.moment)

    def _runs_since(self, node: Node, moment: int) -> bool:
        """Has the statement that made a node run again since?"""
        place = self.places.get(node.order)
        return place is not None and any(p.number == place.number and p.moment >= moment for p in self.trail)

    def _began(self, reuse: Reuse) -> int | None:
        """The moment at which the present iteration of the loop between the part and the pass began."""
        built = reuse.built_parts
        if built is None or built.loop is None:
            return None
        if built.loop.since:  # a library's loop: no statement shows where its iterations begin
            return mark_moment(built.loop.since)
        entry, number = built.loop.entry, built.loop.number
        for place in self.trail:  # in the order in which they ran
            if any(e == entry and n == number for _, e, n in place.turns):
                return place.moment
        return None


def _below(found: Walk, start: int) -> set[int]:
    """The positions of all nodes that a node depends on."""
    seen: set[int] = set()
    todo = [start]
    while todo:
        for below, _ in found.inputs[todo.pop()]:
            if below not in seen:
                seen.add(below)
                todo.append(below)
    return seen


def _in_its_own_words(held: Value, carried: list[Value]) -> Value:
    """What lies at `net.layers[1].state[4]` is, where the program writes of it, `self.state[-1]`."""
    if "]." not in held.name:
        return held
    for value in carried:
        if value.name.endswith("]") == held.name.endswith("]") and flow.same_place(value.name, held.name):
            return replace(held, name=value.name, site=value.site, read_at=value.read_at, is_target=value.is_target)
    return held
