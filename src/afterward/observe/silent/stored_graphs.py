"""Finds containers that fill up with graphs which nothing ever uses: a replay memory of values with their history.

A rollout fills a list too, and is used in the end. So it is reported only where every backward of the program ran at
least twice while the oldest graph lay there, and left it as it was.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from afterward.model.history import Kept
from afterward.model.names import form_of, is_in_row
from afterward.model.records import NEARLY, STEPS, WINDOW
from afterward.observe import compat
from afterward.observe.failure.walk import LOOK_NODES, saved_bytes, walk
from afterward.observe.node_numbers import order_of
from afterward.observe.provenance.naming import Held, Names
from afterward.observe.recording.events import PassSeen

ENOUGH, EARLY = 8, 4  # or of so many, the oldest of which is of the first quarter of the run: one for each epoch
CHANCES = 2  # passes of each call site that have left the oldest graph alone


@dataclass(frozen=True, slots=True)
class Stored:
    """A container as one survey found it: full of graphs that still had all that they had saved."""

    kept: Kept
    since: int  # the order of the oldest graph's newest node
    until: int  # the node counter at the survey
    grows: (
        bool  # it has grown since an earlier survey, with the oldest still there; or nothing will come for it any more
    )


class Storage:
    """What the surveys of a run have found in containers."""

    def __init__(self) -> None:
        self._found: dict[str, Stored] = {}
        self._before: dict[str, tuple[int, int]] = {}  # of each container: how many it held, and the oldest

    @property
    def any(self) -> bool:
        return bool(self._found)

    @property
    def suspects(self) -> bool:
        """Is there a container that only a later survey can tell from a window of the last few?"""
        return any(not one.grows for one in self._found.values())

    def look(self, names: Names, counters: list[int], now: int, *, at_end: bool) -> None:
        """Note the containers that hold graphs of nearly all steps; `counters` are those of the steps' passes."""
        groups: dict[str, list[Held]] = {}
        for held in names.held:
            if "[" in held.name:
                groups.setdefault(form_of(held.name), []).append(held)
        ages_of = {
            group: {bisect_right(counters, order_of(held.node)) for held in members}
            for group, members in groups.items()
        }
        for group, members in groups.items():
            name = group.split("[")[0]
            orders = [order_of(held.node) for held in members]
            ages = ages_of[group]
            number, oldest = self._before.get(group, (0, -1))
            self._before[group] = (len(ages), min(orders))
            grew = len(ages) > number > 0 and oldest == min(orders)
            few = len(_elsewhere(group, ages_of)) < max(STEPS, NEARLY * len(counters)) and len(ages) <= WINDOW
            early = EARLY * bisect_right(counters, min(orders)) <= len(counters)
            last = at_end and len(ages) >= STEPS and not _is_part(group, groups)
            of_all_run = last or (len(ages) >= ENOUGH and early)
            found = None if (few and not of_all_run) or name in names.windows else _live(members)
            if found is None:
                self._found.pop(group, None)  # it was not what it seemed
                continue
            nodes, size = found
            grows = at_end or grew or len(ages) > WINDOW
            several, rows = of_several(members), is_in_row(members[-1].name)
            kept = Kept(name, len(ages), nodes, size, times=0, of_several=several, in_rows=rows)
            self._found[group] = Stored(kept, min(orders), now, grows)

    def kept(self, passes: list[PassSeen]) -> Iterator[Kept]:
        """The containers whose graphs every pass of the program had a chance to use."""
        sites = {event.place.number if event.place is not None else -1 for event in passes}
        for one in self._found.values():
            chances = [event for event in passes if one.since < event.counter <= one.until]
            numbers = [event.place.number if event.place is not None else -1 for event in chances]
            if one.grows and sites and all(numbers.count(site) >= CHANCES for site in sites):
                yield one.kept


def _is_part(group: str, groups: dict[str, list[Held]]) -> bool:
    """Is there a larger container of the same kind of objects? They are met in one of the two only."""
    part = group[group.rindex("[]") :]
    others = [members for name, members in groups.items() if name != group and name.endswith(part)]
    return part != "[]" and any(len(members) >= len(groups[group]) for members in others)


def _elsewhere(group: str, ages_of: dict[str, set[int]]) -> set[int]:
    """The steps of a container's graphs, with those of its elements that were met in another one, as in a sample of it.

    Only objects are one thing in two places: `turns[].values` and `replay.turns[].values`.
    """
    part = group[group.rindex("[]") :]
    alike = [ages for other, ages in ages_of.items() if other == group or (part != "[]" and other.endswith(part))]
    return set().union(*alike) if len(ages_of[group]) >= max(map(len, alike)) else ages_of[group]


def _live(members: list[Held]) -> tuple[int, int] | None:
    """(nodes, bytes) of graphs that no pass has freed; None where one has, or where nothing is saved."""
    nodes = walk((held.node for held in members), limit=LOOK_NODES).nodes
    inner = [node for node in nodes if order_of(node) != compat.LEAF_ORDER]
    if any(state == "freed" for node in inner for _, state, _ in compat.saved_states(node)):
        return None
    size = saved_bytes(nodes)
    return (len(inner), size) if size else None


def of_several(members: list[Held]) -> bool:
    """Have the values several elements each, as far as their shapes are known?"""
    shapes = [compat.output_shape(held.node, held.output) for held in members]
    return all(shape is not None and prod(shape) > 1 for shape in shapes)
