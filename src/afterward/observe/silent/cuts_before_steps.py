"""What lies between parameters and every loss, of those that optimizers step and no pass reaches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from afterward.follow.flow import receiver
from afterward.follow.path import Place
from afterward.follow.reading import reads
from afterward.model.history import Cut, Edge, Pass
from afterward.model.site import Site, Where
from afterward.observe.provenance.cuts import cuts_of_history
from afterward.observe.recording.events import clock_of
from afterward.observe.replay.ended_run import EndedRun

DEPTH = 4  # calls and assignments followed from a cut to what was cut


def cuts_before_steps(after: EndedRun) -> Iterator[Cut]:
    """The cuts that keep parameters of optimizers from every loss."""
    for known in after.updates.known.values():
        held = known.held.items() if known.complete and len(after.steps_of(known)) > 1 else ()
        trained = {leaf for leaf, one in held if one.trains}
        unreached = {leaf for leaf, one in held if one.trains and not one.reached} - after.reached
        never = {leaf for leaf in unreached if not known.held[leaf].moved}
        for group in {frozenset(never), frozenset(unreached if unreached == trained else never)} - {frozenset()}:
            cut = _cut(after, group)
            if cut is not None:
                yield replace(cut, leaves=group)


def holders_of(after: EndedRun) -> dict[int, tuple[Site | None, bool]]:
    """The statements that put parameters which no optimizer holds where they are; and whether an `__init__` did."""
    others = {leaf for leaf in after.reached - after.held if leaf in after.leaf_names}
    out = {leaf for leaf in after.held - after.reached if leaf in after.leaf_names} if others else set()
    holders = {leaf: _holder(after.leaf_names[leaf]) for leaf in others | out}
    sites = {name: after.last_assigning(name) for name in set(holders.values())}
    return {leaf: sites[name] for leaf, name in holders.items()}


def _holder(leaf: str) -> str:
    """`run.model[0].weight` depends on what is assigned to `run.model`."""
    return leaf.split("[")[0] if "[" in leaf else leaf.rsplit(".", 1)[0]


def _cut(after: EndedRun, leaves: frozenset[int]) -> Cut | None:
    """A cut of something with a history, on the way to a loss, in whose making these parameters are named."""
    wanted = _names_of(after, leaves) - _names_of(after, after.reached)
    if not wanted or not after.trail:
        return None
    for run in reversed(after.looked):
        where = after.places.where(run.place)
        if run.call != "backward" or where is None:
            continue
        late = Pass(0, where, clock_of(run), tuple(Edge(order) for order in run.roots))
        late = Pass(0, where, late.moment, late.roots, receiver=receiver(after.places.sources, where))
        for cut in cuts_of_history(after.paths, late, after.trail, after.places.where):
            place = _place(after, cut.where)
            if place is not None and _names(after, place, wanted, DEPTH, set()):
                return cut
    return None


def _names_of(after: EndedRun, leaves: frozenset[int]) -> set[str]:
    """`pipe.encoder[0].weight` is met by each of its names: `pipe`, `encoder` and `weight`, and by `Pipe.encoder`."""
    texts = (re.split(r"[.\[\]\"']+", after.leaf_names.get(leaf, "")) for leaf in leaves)
    parts = {part for text in texts for part in text if part and not part.isdigit()}
    return parts.union(*(after.leaf_owners.get(leaf, ()) for leaf in leaves))


def _place(after: EndedRun, where: Where) -> Place | None:
    level = where.levels[-1]
    mine = after.paths.by_call.get(level.call, [])
    return next((place for place in mine if place.moment == level.moment), None)


def _read(after: EndedRun, place: Place, name: str) -> list[str]:
    """The parts of a name; of `self.encoder` in `Pipe.forward` also `Pipe.encoder`."""
    parts = re.split(r"[.\[\]]+", name)
    kind = after.places.sources.entry(place.number).function.rpartition(".")[0]
    first = next(iter(after.paths.parameters(place)), "")
    return [*parts, f"{kind}.{parts[1]}"] if kind and len(parts) > 1 and parts[0] == first else parts


def _names(after: EndedRun, place: Place, wanted: set[str], depth: int, seen: set[tuple[int, int]]) -> bool:
    """Does a statement read one of these names, itself, in what it calls or in what made the values it reads?"""
    if depth < 0 or (place.call, place.moment) in seen:
        return False
    seen.add((place.call, place.moment))
    statement = after.places.sources.statement(place.number)
    if statement is None:
        return False
    names = reads(statement)
    if any(part in wanted for name in names for part in _read(after, place, name.text)):
        return True
    for call in after.paths.children.get((place.call, place.moment), []):
        if any(_names(after, inner, wanted, depth - 1, seen) for inner in after.paths.by_call[call]):
            return True
    made = (after.paths.assigned_before(name, place) for name in names)
    return any(one is not None and _names(after, one, wanted, depth - 1, seen) for one in made)
