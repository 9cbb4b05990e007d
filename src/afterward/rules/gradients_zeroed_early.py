"""AFT405: gradients are cleared between the backward that computes them and the step that should use them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History
from afterward.model.site import Site
from afterward.model.words import Words
from afterward.rules._gradients import (
    Taken,
    comes_before_backward,
    frozen_while_stepping,
    in_other_iteration,
    is_gap_between,
    is_lost,
    is_within,
    place_of,
    produced_between,
    steps_of_optimizers,
)
from afterward.rules._often import AGAIN
from afterward.rules._registry import rule
from afterward.rules._silent import site_of, warning


@rule("AFT405", Severity.WARNING, breaks=6)
def gradients_zeroed_early(history: History) -> Iterator[Diagnosis]:
    """Gradients are cleared after the `backward()` and before the step, so the step has no gradients to use."""
    if any(frozen_while_stepping(history)):
        return  # AFT404: a loss is there for parameters that ask for no gradient any more
    taken = list(steps_of_optimizers(history))
    too_soon = [steps for steps in taken if comes_before_backward(history, steps)]
    for steps in taken:
        if steps in too_soon:
            continue  # AFT408: it is the step that is in the wrong place
        emptied = _emptied(steps)
        if emptied:
            yield _diagnose(history, emptied[-1], len(emptied))
            continue
        partly = [(step, run) for step, run in _partly(history, steps) if not _is_meant_for(history, run, too_soon)]
        if len(partly) >= AGAIN:
            yield _diagnose_part(history, *partly[0], len(partly))


def _emptied(steps: list[Taken]) -> list[Taken]:
    """The steps that one statement takes, if each finds nothing of what was there for it; another one may find it."""
    by_place: dict[object, list[Taken]] = {}
    for step in steps:
        by_place.setdefault((step.site.file, step.site.line) if step.site is not None else None, []).append(step)
    for mine in by_place.values():
        emptied = [step for step in mine if step.lost]
        if len(emptied) >= AGAIN and not any(step.uses for step in mine):
            return emptied
    return []


def _partly(history: History, steps: list[Taken]) -> list[tuple[Taken, int]]:
    """The steps with a pass before each whose gradients were all cleared unused; empty where one step lost nothing."""
    found = []
    if any(is_within(history.run(run), step) for step in steps for run in step.runs):
        return []  # a closure clears what was there before it
    for before, step in pairwise([None, *(step for step in steps if step.uses)]):
        assert step is not None
        if is_gap_between(history, before, step):
            continue
        lost = [
            r for r in produced_between(history, before, step) if is_lost(history, r) or _is_lost_here(history, r, step)
        ]
        if not lost and before is not None:
            return []
        found += [(step, lost[0])] if lost else []
    return found


def _is_lost_here(history: History, run: int, step: Taken) -> bool:
    """Was it cleared for this optimizer, while another one's step uses it and a pass that this step uses: the same
    statement in two iterations, two micro-batches?"""
    if step.step is None:
        return False
    fates = history.ledger.produced_by(run)
    mine = [fate for leaf, fate in fates.items() if leaf in step.step.leaves]
    cleared = mine and all(f.cleared and not (f.used_by or f.read or f.changed or f.unseen) for f in mine)
    return bool(cleared) and any(_are_used_together(history, run, other) for other in step.runs)


def _are_used_together(history: History, run: int, other: int) -> bool:
    if place_of(history, run) != place_of(history, other) or not in_other_iteration(history, run, other):
        return False
    users = (
        {n for fate in history.ledger.produced_by(r).values() for n in fate.used_by if n >= 0} for r in (run, other)
    )
    return bool(set.intersection(*users))


def _is_meant_for(history: History, run: int, too_soon: list[list[Taken]]) -> bool:
    """Does a pass compute gradients for an optimizer that steps before its backward? What else it reaches, it is not
    for: the critic that judges an action."""
    owners = {steps[0].step.owner for steps in too_soon if steps[0].step is not None}
    mine = history.ledger.produced_by(run).keys()
    return any(one.leaves & mine for one in history.optimizers if one.id in owners)


def _diagnose(history: History, step: Taken, times: int) -> Diagnosis:
    cleared = next((one.cleared for one in step.empty if one.cleared is not None), None)
    return _warning(history, step, step.lost[-1], cleared, times, "")


def _diagnose_part(history: History, step: Taken, run: int, times: int) -> Diagnosis:
    mine = step.step.leaves if step.step is not None else ()
    fates = sorted(history.ledger.produced_by(run).items(), key=lambda each: each[0] not in mine)
    cleared = next((fate.cleared_at for _, fate in fates if fate.cleared_at is not None), None)
    return _warning(history, step, run, cleared, times, "part" if is_lost(history, run) else "here")


def _warning(history: History, step: Taken, run: int, cleared: Site | None, times: int, form: str) -> Diagnosis:
    name = step.step.optimizer if step.step is not None else ""
    made = site_of(history.run(run))
    at = cleared or step.site or made
    return warning(
        at,
        facts.code("optimizer", name),
        facts.count("steps", times, "step"),
        facts.lines("backward", made),
        remedy=Remedy("zero_grad", Effect.CHANGES_GRADIENTS, "earlier", at, name),
        form=form,
        secondary=(Label(made, "computed"), *((Label(step.site, "stepped"),) if step.site is not None else ())),
        bridge=Bridge("grad", "attribute"),
        by=history.run(run),
    )


def _words(why: str, stepped: str) -> Words:
    return Words(
        fault="gradients are cleared before the step that should use them",
        headline="the gradients< of {optimizer}> are cleared before the step that should use them",
        why=why,
        labels={
            "fault": "clears the gradients that {backward} just computed",
            "computed": "computes the gradients",
            "stepped": stepped,
        },
    )


_PART = (
    "Before <each of the {steps}><!steps:each step>< of {optimizer}><?steps: that were looked at>, gradients "
    "[were|are] cleared that no step [had used|uses]. "
)
_USES_THE_REST = "uses only the gradients computed after that"

WORDS = {
    "": _words(
        "<Each of the {steps}><!steps:Each step>< of {optimizer}><?steps: that were looked at> [found|finds] no "
        "gradient left: nothing is trained, and no error is raised.",
        "steps without them",
    ),
    "part": _words(_PART + "Those losses have no effect on training.", _USES_THE_REST),
    "here": _words(_PART + "Those losses train only what other optimizers hold.", _USES_THE_REST),
}
