"""AFT112: a second backward over one forward pass of a DistributedDataParallel module, which is not reduced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity, Ways
from afterward.model.history import History, LeafId, Pass
from afterward.model.words import Words
from afterward.rules._registry import rule
from afterward.rules._report import way
from afterward.rules._silent import site_of, warning


@rule("AFT112", Severity.WARNING, breaks=7)
def ddp_not_reduced(history: History) -> Iterator[Diagnosis]:
    """DistributedDataParallel reduces once per forward pass: what a second backward adds stays on its own rank."""
    seen: set[tuple[str, int]] = set()
    for early, late in pairwise(run for run in history.passes if run.call == "backward"):
        shared = _not_reduced(early, late)
        if shared and late.where is not None:
            place = (late.where.site.file, late.where.site.line)
            if place not in seen:
                seen.add(place)
                yield _diagnose(history, early, late, shared)


def _not_reduced(early: Pass, late: Pass) -> frozenset[LeafId]:
    """Leaves that the earlier pass has reduced, and that the later one reaches over the same forward pass."""
    if not early.retains_graph or early.used is None or late.used is None or late.error is not None:
        return frozenset()
    return early.reduced & late.reduced if early.used & late.used else frozenset()


def _diagnose(history: History, early: Pass, late: Pass, shared: frozenset[LeafId]) -> Diagnosis:
    site = site_of(late)
    names = tuple(sorted(history.leaf(leaf).name for leaf in shared))
    first = site_of(early) if early.where is not None else None
    found = warning(
        site,
        facts.names("who", names),
        facts.count("parameters", len(shared), "parameter", measured=False),
        remedy=Remedy("combine_losses", Effect.CHANGES_GRADIENTS, "reduced", first or site),
        secondary=(Label(first, "reduced"),) if first is not None else (),
        bridge=Bridge(names[0], "attribute") if names and names[0] else None,
        nodes=len(late.used or ()),
        freed=first,
    )
    return replace(found, reused=site, ways=Ways(freed=way(early.where), reused=way(late.where)))


WORDS = Words(
    fault="ranks diverge: the gradients of a second `backward()` are not reduced",
    headline="ranks diverge: what this second `backward()` adds to <{who}><!who:{parameters}> is not reduced",
    why="DistributedDataParallel reduces gradients once per forward pass, in the first `backward()`. This second one "
    "adds to <{who}><!who:{parameters}> on each rank alone, so the parameters drift apart, and no error is raised.",
    labels={
        "fault": "goes through the same forward pass again; what it adds stays on this rank",
        "reduced": "[reduced|reduces] the gradients across ranks",
    },
)
