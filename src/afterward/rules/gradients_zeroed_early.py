"""AFT405: gradients are zeroed between the pass that makes them and the step that should use them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History
from afterward.model.site import Site
from afterward.rules import rule
from afterward.rules._gradients import (
    Taken,
    comes_before_backward,
    is_lost,
    is_within,
    produced_between,
    steps_of_optimizers,
)
from afterward.rules._silent import site_of, warning

ENOUGH = 2  # steps of one optimizer, each left without gradients that were made for it


@rule("AFT405", Severity.WARNING)
def gradients_zeroed_early(history: History) -> Iterator[Diagnosis]:
    """Gradients are zeroed after the backward and before the step, so the step has nothing to go by."""
    for steps in steps_of_optimizers(history):
        if comes_before_backward(history, steps):
            continue  # AFT408: it is the step that is in the wrong place
        emptied = [step for step in steps if step.lost and not step.uses]
        if len(emptied) >= ENOUGH and not any(step.uses for step in steps):
            yield _diagnose(history, emptied[-1], len(emptied))
            continue
        partly = _partly(history, steps)
        if len(partly) >= ENOUGH:
            yield _diagnose_part(history, *partly[0], len(partly))


def _partly(history: History, steps: list[Taken]) -> list[tuple[Taken, int]]:
    """The steps with a pass before each whose gradients were all cleared unused; empty where one step lost nothing."""
    found = []
    if any(is_within(history.run(run), step) for step in steps for run in step.runs):
        return []  # a closure clears what was there before it
    for before, step in pairwise([None, *(step for step in steps if step.uses)]):
        assert step is not None
        lost = [run for run in produced_between(history, before, step) if is_lost(history, run)]
        if not lost and before is not None:
            return []
        found += [(step, lost[0])] if lost else []
    return found


def _diagnose(history: History, step: Taken, times: int) -> Diagnosis:
    cleared = next((one.cleared for one in step.empty if one.cleared is not None), None)
    name = step.step.optimizer if step.step is not None else ""
    which = f"steps of `{name}`" if name else "updates"
    return _warning(
        cleared or step.site,
        site_of(history.run(step.lost[-1])),
        step.site,
        name,
        f"Each of the {times} {which} that were looked at found no gradient left of the "
        "pass before it. Nothing is trained, and no error is raised.",
        "steps without them",
    )


def _diagnose_part(history: History, step: Taken, run: int, times: int) -> Diagnosis:
    fates = history.ledger.produced_by(run).values()
    cleared = next((fate.cleared_at for fate in fates if fate.cleared_at is not None), None)
    name = step.step.optimizer if step.step is not None else ""
    return _warning(
        cleared or step.site,
        site_of(history.run(run)),
        step.site,
        name,
        f"Before each of the {times} steps of `{name}` that were looked at, gradients were zeroed that no step had "
        "used yet. Those losses have no effect on training.",
        "uses only what was made after that",
    )


def _warning(zeroed: Site | None, made: Site, step: Site | None, name: str, why: str, label: str) -> Diagnosis:
    at = zeroed or made
    return warning(
        "gradients are zeroed before the step that should use them",
        at,
        f"drops the gradients that line {made.line} has just made",
        why,
        Remedy(
            "zero_grad",
            Effect.CHANGES_GRADIENTS,
            "earlier",
            at,
            name,
        ),
        secondary=(Label(made, "makes the gradients"), *((Label(step, label),) if step is not None else ())),
        bridge=Bridge("grad", "attribute"),
        freed=made,
    )
