"""AFT411: gradients are computed for parameters that no optimizer holds (any more), and nothing uses or clears them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.gradients import Fate
from afterward.model.history import History, Leaf, Pass
from afterward.model.site import Site
from afterward.model.words import Words
from afterward.rules._idle import idle_optimizers
from afterward.rules._often import AGAIN, SEVERAL
from afterward.rules._registry import rule
from afterward.rules._silent import site_of, warning


@rule("AFT411", Severity.INFO, breaks=7)
def gradients_never_used(history: History) -> Iterator[Diagnosis]:
    """`backward()` adds to gradients of parameters that no optimizer holds; nothing uses or clears them."""
    held = [leaf for leaf in history.leaves if leaf.optimizers]
    fates: dict[int, dict[int, Fate]] = {}
    for (run, number), fate in history.ledger.fates.items():
        fates.setdefault(number, {})[run] = fate
    times: dict[int, int] = {}
    groups: dict[tuple[str, int], list[tuple[Leaf, Pass]]] = {}
    for leaf in history.leaves if held else ():
        since = _unheld_since(history, leaf)
        mine = {run: one for run, one in fates.get(leaf.id, {}).items() if history.run(run).moment >= since}
        if leaf.taken is None or len(mine) < SEVERAL or any(map(_has_an_end, mine.values())):
            continue
        runs = [history.run(run) for run in sorted(mine)]
        times[leaf.id] = len(runs)
        if len(history.steps_between(runs[0].moment, runs[-1].moment)) >= AGAIN:
            site = _statement(leaf, held)
            groups.setdefault((site.file, site.line), []).append((leaf, runs[-1]))
    for found in groups.values():
        leaves, last = [leaf for leaf, _ in found], found[0][1]
        if not _is_another_fault(history, last):
            yield _diagnose(_statement(leaves[0], held), leaves, last, times[leaves[0].id])


def _unheld_since(history: History, leaf: Leaf) -> float:
    """The moment from which on no optimizer holds it: one that trained a teacher may be gone."""
    gone = [one.gone for one in history.optimizers if leaf.id in one.leaves]
    return max((math.inf if one is None else one for one in gone), default=-math.inf)


def _has_an_end(fate: Fate) -> bool:
    return bool(fate.used_by) or fate.cleared or fate.read


def _is_another_fault(history: History, run: Pass) -> bool:
    """Does the pass reach nothing that is trained (AFT406), or is a layer's copy trained in its place (AFT404)?"""
    return bool(idle_optimizers(history)) or not any(history.leaf(leaf).optimizers for leaf in run.reached)


def _statement(leaf: Leaf, held: list[Leaf]) -> Site:
    """The outermost statement that takes the leaf and nothing that an optimizer holds."""
    assert leaf.taken is not None
    trained = {(one.call, one.moment) for other in held if other.taken is not None for one in other.taken.levels}
    levels = [number for number, one in enumerate(leaf.taken.levels) if (one.call, one.moment) not in trained]
    return leaf.taken.site_at(leaf.taken.innermost_iteration, levels[0] if levels else -1)


def _diagnose(site: Site, leaves: list[Leaf], run: Pass, times: int) -> Diagnosis:
    names = tuple(sorted(leaf.name for leaf in leaves if leaf.name))
    made = site_of(run)
    # Where the program itself gives some of them other values, and no optimizer does, they follow another network.
    form = "" if any(leaf.moved for leaf in leaves) else "not_trained"
    return warning(
        site,
        facts.names("who", names),
        facts.count("parameters", len(leaves), "parameter", measured=False),
        facts.lines("backward", made),
        facts.count("times", times, "backward pass"),
        remedy=Remedy("no_grad", Effect.SAME_GRADIENTS, form, site, names[0] if names else ""),
        secondary=(Label(made, "computed"),),
        bridge=Bridge(names[0], "attribute") if names else None,
        freed=made,
    )


_WHO = "<{who}><!who:{parameters}>"

WORDS = Words(
    fault="gradients are computed that nothing uses or clears",
    headline=f"the gradients of {_WHO} are computed, and nothing uses or clears them",
    why=f"No optimizer holds {_WHO}. <In the {{times}} that were looked at, the><!times:The> `backward()` on "
    "{backward} [added|adds] to their gradients, and no step, no statement and no `zero_grad()` [touched|touches] "
    "these. If they should not be trained, this part of the graph and its backward are computed for nothing.",
    labels={
        "fault": f"records a graph for the gradients of {_WHO}",
        "computed": "computes these gradients in every iteration",
    },
    helps={
        ("no_grad", "not_trained"): "if they should not be trained, compute it under `torch.no_grad()`, or set their "
        "`requires_grad` to `False`; {effect}. Otherwise pass them to an optimizer",
    },
)
