"""Finds names that keep the graphs of past steps in memory: many values in a container, or one sum of many.

A survey sees only what is alive at one moment; what a record of steps is, and what a window, a rollout or the newest of
each kind, shows in several of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from afterward.follow.path import Place
from afterward.follow.reading import parts_run
from afterward.model.history import Kept
from afterward.model.names import container_of, form_of, is_in_row
from afterward.model.operations import JOINING, operation
from afterward.model.records import NEARLY, STEPS, are_under_keys, forgets, has_fixed_places
from afterward.observe import compat
from afterward.observe.failure.walk import LOOK_NODES, saved_bytes, walk
from afterward.observe.marks.statements import SHIFT
from afterward.observe.node_numbers import next_node, order_of
from afterward.observe.provenance.naming import Held, Names
from afterward.observe.recording.events import PassSeen
from afterward.observe.recording.recorder import Recorder
from afterward.observe.replay.ended_run import EndedRun
from afterward.observe.replay.places import Places, Written
from afterward.observe.silent.growth import Grown
from afterward.observe.silent.stored_graphs import Storage, of_several
from afterward.observe.silent.used_nodes import contains

SLOW = 2  # of values under keys, graphs of every second step at least: a record, not the newest of each


class Records:
    """What the surveys of one run have met under each name."""

    def __init__(self) -> None:
        self._found: dict[str, Kept] = {}
        self._newest: dict[str, tuple[str, int]] = {}  # of what is found: the newest value's name, and its order
        self._rows_before: dict[str, tuple[int, int]] = {}  # of how many steps attributes of elements were, of how many
        self._storage = Storage()
        self._grown = Grown()

    def look(self, names: Names, recorder: Recorder, seen: PassSeen | None, *, early: bool) -> None:
        """Values that hold graphs of several past steps: many in a container, or one sum of many."""
        # Only a pass that frees ends a step: inner passes of one step (`grad`, `retain_graph`) do not.
        backward = [e for e in recorder.settle() if isinstance(e, PassSeen) and e.call == "backward"]
        passes = [e for e in backward if not e.retains_graph] or backward
        clocks = _one_per_step(passes, recorder)
        counters = max(clocks, key=len, default=[])
        used = [event.used for event in passes if event.used is not None]
        now = next_node()
        # What was built since the pass before the one at hand belongs to a step that is not over.
        own = next((clock for clock in clocks if seen is not None and clock[-1] == seen.counter), None)
        over = counters if own is None else own[:-1]
        until = now + 1 if seen is None else over[-1] if over else 0
        if not early:
            self._storage.look(names, counters, now, at_end=seen is None)
        groups: dict[str, list[Held]] = {}
        for held in names.held:
            groups.setdefault(container_of(held.name), []).append(held)
        if early:  # so few values under keys may each be the newest of its kind
            groups = {name: held for name, held in groups.items() if len(held) == 1 or not _under_keys(held)}
        else:
            groups |= self._rows(groups, counters)
        for name, members in groups.items():
            if name in names.windows:
                continue  # the last few are kept, and no more come to it
            counters = max(clocks, key=lambda clock: (len(_ages(clock, members)), len(clock)), default=[])
            ages = {bisect_right(counters, n) for held in members if (n := order_of(held.node)) < until}
            found = walk_some(held.node for held in members)
            orders = [order_of(node) for node in found]
            sums = list(_sums(members))
            inner = orders if len(sums) == len(members) else [order_of(node) for node in walk_some(sums)]
            depth = {bisect_right(counters, order) for order in inner if order < until}
            steps = min(max(len(ages), len(depth)), len(counters))
            oldest = min(order_of(held.node) for held in members)
            grown = not early and "[" in members[0].name and self._grown.since(name, oldest, found, now)
            if steps < max(STEPS, self._found[name].steps if name in self._found else 0):
                continue
            if not grown and not _used_apart(orders, passes):
                continue
            times = max((sum(contains(one, order) for one in used) for order in orders), default=0)
            under_keys = _under_keys(members)
            if under_keys and len(depth) < STEPS and SLOW * len(ages) < len(counters):
                continue  # a few values, each replaced now and then
            by_count = under_keys and len(ages) == steps
            past = [node for node, order in zip(found, orders, strict=True) if order < until]
            leaves = [node for node, order in zip(found, orders, strict=True) if order == compat.LEAF_ORDER]
            size, several = saved_bytes([*past, *leaves]), of_several(members)
            # What no pass was seen to use has grown, and its older values were used up.
            newest = max(members, key=lambda held: order_of(held.node))
            rows = is_in_row(newest.name)
            self._found[name] = Kept(
                name,
                steps,
                len(past),
                size,
                times=max(times, 1),
                by_count=by_count,
                of_several=several,
                in_rows=rows,
            )
            self._newest[name] = newest.name, order_of(newest.node)

    def _rows(self, groups: dict[str, list[Held]], counters: list[int]) -> dict[str, list[Held]]:
        """Containers whose elements keep something as an attribute, as `log[3].loss`: those that have grown since.

        Such elements may also be the networks or agents of the program, each with the newest of its own.
        """
        rows: dict[str, list[Held]] = {}
        for name, members in groups.items():
            if "]." in name:
                rows.setdefault(form_of(name), []).extend(members)
        grown: dict[str, list[Held]] = {}
        for form, members in rows.items():
            ages = len({bisect_right(counters, order_of(held.node)) for held in members})
            known, self._rows_before[form] = self._rows_before.get(form), (ages, len(counters))
            if known is not None and ages > STEPS and ages - known[0] >= NEARLY * max(len(counters) - known[1], 1):
                grown.setdefault(form.split("[")[0], members)
        return {name: members for name, members in grown.items() if name not in groups}

    @property
    def suspects(self) -> bool:
        """Is there something that only a later survey can tell from what is all right?"""
        return self._storage.suspects or any(ages >= STEPS for ages, _ in self._rows_before.values())

    def kept(self, after: EndedRun) -> Iterable[Kept]:
        """What names hold, by the name that the statement has for it that put the newest value there."""
        places = after.places
        made = after.places_of({order for _, order in self._newest.values()})
        executed = places.executed if self._found or self._storage.any else ()
        ran = [node for number in executed for node in parts_run(places.sources.statement(number))]
        own = (self._placed(each, places, made) for each in self._found.values())
        stored = (_at(one, places.assigning(one.name)) for one in self._storage.kept(after.passes))
        return [
            replace(one, forgets=forgets(ran, one.name), replaces=has_fixed_places(ran, one.name))
            for one in (*own, *stored)
        ]

    def _placed(self, one: Kept, places: Places, made: Mapping[int, Place]) -> Kept:
        name = places.in_own_words(one.name)
        held, order = self._newest[one.name]
        inner = held[len(one.name) :]
        site, words = places.storing(name + inner, order, made.get(order))
        return _at(one, (site, words.removesuffix(inner)) if site is not None else places.assigning(name))


def _at(one: Kept, written: Written) -> Kept:
    return replace(one, site=written[0], name=written[1])


def _under_keys(members: list[Held]) -> bool:
    return are_under_keys([held.name for held in members])


def walk_some(starts: Iterable[Any]) -> list[Any]:
    """The nodes behind these, up to a limit."""
    found = walk(starts, limit=LOOK_NODES)
    return found.nodes


def _one_per_step(passes: list[PassSeen], recorder: Recorder) -> list[list[int]]:
    """The node counter at each pass, by site: a step may hold passes of several, and each phase of a training has its
    own."""
    by_site: dict[int, list[int]] = {}
    for event in passes:
        before = event.moment - recorder.base - 1  # the mark of the statement that called it
        noted = recorder.marks[before] >> SHIFT if 0 <= before < len(recorder.marks) else -1
        site = event.site if event.site >= 0 else noted
        if site >= 0:
            by_site.setdefault(site, []).append(event.counter)
    return list(by_site.values())


def _ages(counters: list[int], members: Iterable[Held]) -> set[int]:
    """The steps that values were made in."""
    return {bisect_right(counters, order_of(held.node)) for held in members}


def _sums(members: Iterable[Held]) -> Iterator[Any]:
    """The nodes of those values that are sums."""
    return (held.node for held in members if operation(held.node.name()) in JOINING)


def _used_apart(orders: list[int], passes: list[PassSeen]) -> bool:
    """Have several passes used these, some of them for the same parameters?

    What one pass has used as a whole is its rollout. What each used for other parameters is one iteration over several
    networks. Neither is a record of many steps. A leaf that one pass alone reaches is an input of its batch.
    """
    reached = Counter(leaf for run in passes for leaf in run.leaves or ())
    mine = [run for run in passes if run.used is not None and any(contains(run.used, order) for order in orders)]
    trained = (frozenset(leaf for leaf in run.leaves or () if reached[leaf] > 1) or run.leaves for run in mine)
    return len(set(trained)) < len(mine)
