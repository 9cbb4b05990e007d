"""AFT410: gradients are computed for an optimizer that never steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.gradients import CLEARED, PRODUCED
from afterward.model.history import History, Optimizer
from afterward.model.words import Words
from afterward.rules._gradients import never_stepping, unread
from afterward.rules._registry import rule
from afterward.rules._silent import site_of, warning


@rule("AFT410", Severity.WARNING, breaks=6)
def optimizer_never_steps(history: History) -> Iterator[Diagnosis]:
    """Gradients are computed for an optimizer, and it never steps."""
    told: set[tuple[str, int]] = set()  # several optimizers, one statement: one fault
    for optimizer, every in never_stepping(history):
        runs = [run for run in _cleared_before(history, optimizer) if run in every] or every
        made = site_of(history.run(runs[-1]))
        if (made.file, made.line) not in told:
            told.add((made.file, made.line))
            yield _diagnose(history, optimizer, runs)
    for optimizer, runs in unread(history):
        yield _diagnose(history, optimizer, runs, "unread")


def _cleared_before(history: History, optimizer: Optimizer) -> list[int]:
    """The passes that come first after its gradients were cleared: those are for it. What reaches its parameters later
    may be another network's loss."""
    found, cleared = [], False
    for entry in history.gradients:
        if entry.leaves & optimizer.leaves:
            if entry.what == PRODUCED and cleared:
                found.append(entry.run)
            cleared = entry.what == CLEARED
    return found


def _diagnose(history: History, optimizer: Optimizer, runs: list[int], form: str = "") -> Diagnosis:
    name = optimizer.name
    made = site_of(history.run(runs[-1]))
    fates = history.ledger.produced_by(runs[-1]).items()
    cleared = next((fate.cleared_at for leaf, fate in fates if leaf in optimizer.leaves and fate.cleared_at), None)
    return warning(
        made,
        facts.code("optimizer", name),
        facts.code("update", f"{name}.step()"),
        facts.count("parameters", len(optimizer.leaves), "parameter", measured=False),
        facts.count("times", len(runs), "backward pass"),
        remedy=Remedy(
            "move_step",
            Effect.CHANGES_GRADIENTS,
            "never",
            made,
            name,
            facts=(facts.code("update", f"{name}.step()"),),
        ),
        form=form,
        secondary=(Label(cleared, "cleared"),) if cleared is not None and not form else (),
        bridge=Bridge(name, "local"),
        by=history.run(runs[-1]),
    )


_CLEARED = Words(
    fault="an optimizer never steps",
    headline="{optimizer} never steps",
    why="Gradients for the {parameters} of {optimizer} [were|are] computed< in {times} that were looked at>, and "
    "cleared again. {update} [was|is] never called, so these parameters are not trained.",
    labels={
        "fault": "computes gradients for what {optimizer} holds, and no step uses them",
        "cleared": "clears them",
    },
)
WORDS = {
    "": _CLEARED,
    "unread": replace(
        _CLEARED,
        why="Every `backward()` computes gradients for the {parameters} of {optimizer}. No statement uses {optimizer} "
        "after it was made: {update} [was|is] never called, so these parameters are not trained, and their gradients "
        "add up.",
    ),
}
