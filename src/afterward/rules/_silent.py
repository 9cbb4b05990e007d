"""What the rules about silent faults share: passes by site, and the shape of a warning."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Bridge, Diagnosis, Label, Remedy, Role
from afterward.model.facts import Fact, Note
from afterward.model.history import History, LeftOut, Pass, Unused, UnusedLoss
from afterward.model.site import Site

OVERWRITTEN = 2  # passes, each over the last of several values of a loss
OVERWRITTEN_ONCE = 5  # or so many values of it, where the whole program has but one pass
LEFT_OUT = 2  # times that a part of a loss was computed and is known not to be used
UNREAD = 3  # executions, known to be in vain, of a statement whose value nothing reads


def passes_by_site(history: History) -> Iterator[list[Pass]]:
    """The passes that were looked at, grouped by the statement that called them, in order."""
    groups: dict[tuple[str, int], list[Pass]] = {}
    for run in history.passes:
        if run.used is not None and run.where is not None:
            groups.setdefault((run.where.site.file, run.where.site.line), []).append(run)
    yield from groups.values()


def overwritten(history: History) -> list[UnusedLoss]:
    """Losses of which only the last of several values is used, again and again; or in the one pass of a whole run."""
    alone = history.observed and sum(run.call == "backward" for run in history.passes) == 1
    found = history.unused_losses
    return [one for one in found if one.passes >= OVERWRITTEN or (alone and one.times >= OVERWRITTEN_ONCE)]


def forgotten(history: History) -> list[LeftOut]:
    """Parts of losses that no pass uses, as often as it is known."""
    return [one for one in history.left_out if one.times >= LEFT_OUT]


def never_read(history: History) -> list[Unused]:
    """What is computed with a graph step after step, under a name that nothing reads. What also runs after the last
    pass is an evaluation."""
    return [one for one in history.unused if one.unread and one.judged >= UNREAD and not one.after_last]


def left_without(history: History) -> frozenset[int]:
    """The leaves of optimizers that the steps which were looked at found without a gradient, each time."""
    produced = frozenset().union(*(leaves for _, _, leaves in history.ledger.productions))
    return frozenset(one.leaf for one in history.ledger.empty) - produced


def site_of(run: Pass) -> Site:
    assert run.where is not None
    return run.where.dated_site


def warning(
    site: Site,
    *known: Fact,
    remedy: Remedy,
    form: str = "",
    secondary: tuple[Label, ...] = (),
    bridge: Bridge | None = None,
    nodes: int = 0,
    size: int = 0,
    built: Site | None = None,
    freed: Site | None = None,
    cut: Site | None = None,
    written: Site | None = None,
    notes: tuple[Note, ...] = (),
) -> Diagnosis:
    return Diagnosis(
        Label(site, Role.FAULT),
        secondary,
        form,
        known,
        notes,
        remedies=(remedy,),
        built=built or site,
        freed=freed,
        cut=cut,
        written=written,
        bridge=bridge,
        nodes=nodes,
        bytes=size,
    )
