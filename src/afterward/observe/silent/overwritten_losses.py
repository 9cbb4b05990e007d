"""Finds forward passes whose loss was overwritten before it was used: only the last iteration of a loop counts."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from afterward.follow.crossing import Trail
from afterward.follow.path import Place
from afterward.follow.reading import reads, targets
from afterward.model.history import UnusedLoss
from afterward.observe.recording.events import PassSeen
from afterward.observe.replay.ended_run import EndedRun
from afterward.observe.replay.places import Places
from afterward.observe.silent.used_nodes import meets


def find_unused_losses(after: EndedRun) -> tuple[UnusedLoss, ...]:
    """Statements that gave the loss a new value several times per pass, all but the last of them in vain."""
    trail = after.paths
    passes = [event for event in after.passes if event.call == "backward"]
    used = [event.used for event in passes if event.used is not None]
    found: dict[tuple[int, int], list[UnusedLoss]] = {}
    first = (None,) if len(passes) == 1 else ()  # of several, what came before the first may be setting up
    for earlier, event in pairwise((*first, *passes)) if trail.by_call else ():
        if event is None or event.used is None or event.place is None or (earlier and earlier.used is None):
            continue  # something between the two was not looked at
        if event.count != (earlier.count if earlier is not None else 0) + 1:
            continue  # something between the two was forgotten
        for number, loss in _dropped(after.places, trail, earlier, event, used):
            found.setdefault((event.site, number), []).append(loss)
    return tuple(replace(several[0], passes=len(several)) for several in found.values())


def _between(trail: Trail, earlier: PassSeen | None, event: PassSeen) -> list[Place]:
    """What ran between two passes (before the first: from the start), in the call that the later one belongs to."""
    if event.place is None:
        return []
    mine = trail.by_call.get(event.place.call, [])
    first = earlier.moment if earlier is not None else 0
    begin, end = (bisect_left(mine, at, key=lambda place: place.moment) for at in (first, event.place.moment))
    return mine[begin : end + 1]


def _dropped(
    places: Places, trail: Trail, earlier: PassSeen | None, event: PassSeen, used: list[array[int]]
) -> Iterator[tuple[int, UnusedLoss]]:
    assert event.place is not None
    assert event.used is not None
    called = places.sources.statement(event.place.number)
    wanted = {name.text for name in reads(called)} if called is not None else set()
    runs: dict[int, list[tuple[Place, int]]] = {}
    for place, after in trail.pairs(_between(trail, earlier, event)):
        if after.order_at > place.order_at:
            runs.setdefault(place.number, []).append((place, after.order_at))
    for number, executions in runs.items():
        statement = places.sources.statement(number)
        named = [target.text for target in targets(statement) if target.text in wanted] if statement else []
        if len(executions) < 2 or not named:
            continue
        *dropped, (last, end) = executions
        vain = [place for place, stop in dropped if not any(meets(one, place.order_at, stop) for one in used)]
        where, spot = places.where(last), places.where(event.place)
        if len(vain) == len(dropped) and meets(event.used, last.order_at, end) and where and spot:
            yield number, UnusedLoss(named[0], len(executions), where.site, spot.dated_site)
