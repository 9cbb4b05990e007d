"""Finds optimizers that change nothing: parameters that no pass reaches, or whose gradients are zeroed too early."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from afterward.follow.flow import receiver
from afterward.follow.path import Place
from afterward.follow.reading import reads
from afterward.model.history import Cut, Edge, Idle, Pass
from afterward.model.site import Site, Where, dated_site
from afterward.observe.provenance.cuts import cuts_of_history
from afterward.observe.recording.events import PassSeen, StepSeen, clock_of
from afterward.observe.replay.ended_run import EndedRun
from afterward.observe.silent.updates import Known

STILL = 2  # looked-at steps that changed nothing before a model is called replaced
DEPTH = 4  # calls and assignments followed from a cut to what was cut


def find_idle(after: EndedRun) -> Iterator[Idle]:
    """Optimizers whose parameters, all or some, no pass reaches."""
    for known in after.updates.known.values():
        name, steps = known.name, after.steps_of(known)
        if len(steps) < 2 or not known.held or not known.complete:
            continue
        trained = {leaf for leaf, held in known.held.items() if held.trains}
        never = {leaf for leaf in trained - after.reached if not (known.held[leaf].moved or known.held[leaf].reached)}
        site = dated_site(after.places.where(steps[-1].place))
        if site is None or not trained:
            continue
        # Where a step cannot have changed them, something else has: `copy_` into a target network.
        unreached = {leaf for leaf in trained - after.reached if not known.held[leaf].reached}
        if not known.had_gradient and trained in ((never, unreached) if known.of_torch else (never,)):
            yield _with_replaced(after, _idle(after, name, steps, trained, trained, site))
        elif _left_behind(after, known, trained):
            late = [step for step in steps if step.moment > known.moved_at]
            if len(late) >= STILL:
                yield _idle(
                    after,
                    name,
                    late,
                    frozenset(trained),
                    trained,
                    dated_site(after.places.where(late[0].place)) or site,
                )
        else:
            parts = (_idle(after, name, steps, part, trained, site) for part in (unreached, never) if part)
            found = [_with_replaced(after, one) for one in parts]
            # What nothing stands in the way of, and nothing in the place of, may well be unused on purpose.
            sure = [one for one in found if one.instead or (one.cut and one.parameters == len(never))]
            yield from sure[:1]


def _with_replaced(after: EndedRun, found: Idle) -> Idle:
    """Were layers put in the place of theirs? Nothing but the optimizer holds them, and none holds the new ones'."""
    if found.cut or found.instead:
        return found
    late = _last_pass(after)
    names = _names_of(after, _unheld(after, late)) if late is not None else ()
    if found.names or not names or not all("." in name for name in names):
        return found
    sites = {after.last_assigning(_holder(name), but_not_in="__init__") for name in names}
    return replace(found, instead=names, replaced=sites.pop()) if len(sites) == 1 and None not in sites else found


def _left_behind(after: EndedRun, known: Known, trained: set[int]) -> bool:
    """Has nothing of it changed since passes began to reach a copy of its parameters?"""
    late = [run for run in after.looked if run.call == "backward" and run.moment > known.moved_at and run.leaves]
    return (
        known.still >= STILL
        and len(late) >= STILL
        and not any(trained & (run.leaves or frozenset()) for run in late)
        and bool(_instead(after, late[-1], trained))
    )


def _instead(after: EndedRun, run: PassSeen, members: set[int] | frozenset[int]) -> tuple[str, ...]:
    """Names of parameters of the very same shapes that a pass reaches and no optimizer holds."""
    known = after.updates
    others = sorted(known.untouched & (run.leaves or frozenset())) or _unheld(after, run)
    shapes = {leaf: held.shape for one in known.known.values() for leaf, held in one.held.items() if leaf in members}
    if not others or sorted(known.shapes.get(leaf, ()) for leaf in others) != sorted(shapes.values()):
        return ()
    return _names_of(after, others)


def _unheld(after: EndedRun, run: PassSeen) -> list[int]:
    """The leaves that the passes of its statement reach and no optimizer holds. What one pass alone reaches is an
    input of its batch."""
    reached = Counter(leaf for one in after.looked if one.site == run.site for leaf in one.leaves or ())
    return [leaf for leaf, times in reached.items() if leaf not in after.held and times > 1]


def _names_of(after: EndedRun, leaves: list[int]) -> tuple[str, ...]:
    return tuple(sorted(after.leaf_names.get(leaf, "") for leaf in leaves))


def _last_pass(after: EndedRun) -> PassSeen | None:
    """The last backward, of several networks' the last that reaches something no optimizer holds."""
    runs = [run for run in reversed(after.looked) if run.call == "backward" and run.leaves]
    return next((run for run in runs if _unheld(after, run)), runs[0] if runs else None)


def _idle(
    after: EndedRun, name: str, steps: list[StepSeen], never: set[int] | frozenset[int], trained: set[int], site: Site
) -> Idle:
    names = tuple(sorted(after.leaf_names[leaf] for leaf in never if leaf in after.leaf_names))
    late = _last_pass(after)
    instead = _instead(after, late, never) if late is not None else ()
    known_as = next((one for one in (*instead, *names) if one), "")
    # What gives `model` its value replaces all of it, not the part `model[0]`.
    whole = len(never) == len(trained) or "[" not in known_as
    replaced = after.last_assigning(_holder(known_as)) if instead and known_as and whole else None
    cut = None if instead else _cut(after, names)
    return Idle(name, len(steps), len(never), site, cut, len(trained), names, instead, replaced)


def _holder(leaf: str) -> str:
    """`run.model[0].weight` depends on what is assigned to `run.model`."""
    return leaf.split("[")[0] if "[" in leaf else leaf.rsplit(".", 1)[0]


# The cut between parameters and every loss


def _cut(after: EndedRun, names: tuple[str, ...]) -> Cut | None:
    """A cut of something with a history, on the way to a loss, in whose making these parameters are named."""
    others = {part for leaf in after.reached for part in _parts(after.leaf_names.get(leaf, ""))}
    wanted = {part for name in names for part in _parts(name)} - others
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


def _parts(name: str) -> set[str]:
    """`pipe.encoder[0].weight` is met by each of its names: `pipe`, `encoder` and `weight`."""
    return {part for part in re.split(r"[.\[\]\"']+", name) if part and not part.isdigit()}


def _place(after: EndedRun, where: Where) -> Place | None:
    level = where.levels[-1]
    mine = after.paths.by_call.get(level.call, [])
    return next((place for place in mine if place.moment == level.moment), None)


def _names(after: EndedRun, place: Place, wanted: set[str], depth: int, seen: set[tuple[int, int]]) -> bool:
    """Does a statement read one of these names, itself, in what it calls or in what made the values it reads?"""
    if depth < 0 or (place.call, place.moment) in seen:
        return False
    seen.add((place.call, place.moment))
    statement = after.places.sources.statement(place.number)
    if statement is None:
        return False
    names = reads(statement)
    if any(part in wanted for name in names for part in re.split(r"[.\[\]]+", name.text)):
        return True
    for call in after.paths.children.get((place.call, place.moment), []):
        if any(_names(after, inner, wanted, depth - 1, seen) for inner in after.paths.by_call[call]):
            return True
    made = (after.paths.assigned_before(name, place) for name in names)
    return any(one is not None and _names(after, one, wanted, depth - 1, seen) for one in made)
