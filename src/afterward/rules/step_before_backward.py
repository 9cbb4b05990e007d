"""AFT408: an optimizer steps before the backward of its own iteration."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules._gradients import Taken, comes_before_backward, steps_of_optimizers, too_late_for
from afterward.rules._often import AGAIN
from afterward.rules._registry import rule
from afterward.rules._silent import site_of, warning


@rule("AFT408", Severity.WARNING, breaks=6)
def step_before_backward(history: History) -> Iterator[Diagnosis]:
    """A step comes before the backward of its own iteration: it finds old gradients, or none."""
    for steps in steps_of_optimizers(history):
        early = comes_before_backward(history, steps)
        trained = any(step.uses for step in steps)
        if len(early) >= AGAIN or (early and not trained):  # of a run that trained nothing, one will do
            yield _diagnose(history, early, alone=not steps[0].uses)


def _diagnose(history: History, early: list[Taken], *, alone: bool) -> Diagnosis:
    step = early[0]
    assert step.step is not None
    name, used = step.step.optimizer, bool(step.uses)
    run = history.run(too_late_for(history, step))
    made = site_of(run)
    site = step.site or made
    return warning(
        site,
        facts.code("optimizer", name),
        facts.code("update", f"{name}.step()"),
        facts.lines("made", made),
        facts.count("times", len(early)),
        facts.count("looked", len(early) + 1, "step"),
        remedy=Remedy(
            "move_step",
            Effect.CHANGES_GRADIENTS,
            "own_backward",
            site,
            name,
            facts=(facts.code("update", f"{name}.step()"), facts.lines("lines", made)),
        ),
        form=("old" if alone else "mixed") if used else "none",
        secondary=(Label(made, "computed"),),
        bridge=Bridge("grad", "attribute"),
        by=run,
    )


def _words(what: str, ends: str) -> Words:
    return Words(
        fault="an optimizer steps before the `backward()` of its own iteration",
        headline="{optimizer} steps before the `backward()` of its own iteration",
        why="In each iteration {update} runs before `backward()`<, in {times} of {looked} that were looked at>. The "
        f"gradients that {{made}} computes come too late for it. {ends}",
        labels={"fault": what, "computed": "computes the gradients, after the step"},
    )


WORDS = {
    "old": _words(
        "uses the gradients of the iteration before",
        "The first step changes nothing, and the gradients of the last iteration are never used.",
    ),
    "mixed": _words(
        "uses the gradients of the iteration before, and those of another loss",
        "The gradients of the last iteration are never used.",
    ),
    "none": _words(
        "finds no gradient to use",
        "They are cleared before the next step: nothing is trained, and no error is raised.",
    ),
}
