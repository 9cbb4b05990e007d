"""AFT402: gradients are never cleared, and add up over steps."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Remedy, Severity
from afterward.model.gradients import Use
from afterward.model.history import History, Pass
from afterward.model.words import Words
from afterward.rules import rule
from afterward.rules._gradients import Taken, in_one_iteration, steps_of_optimizers
from afterward.rules._silent import site_of, warning

ENOUGH = 2  # steps of one optimizer that used gradients again: the first may be part of setting up


@rule("AFT402", Severity.WARNING)
def gradients_not_zeroed(history: History) -> Iterator[Diagnosis]:
    """Updates use gradients that still contain those of earlier steps."""
    again: dict[object, list[Taken]] = {}
    for step in (step for steps in steps_of_optimizers(history) for step in steps if _used_again(history, step)):
        # Optimizers that one statement steps, as one made for each task, have one fault in common.
        place = (step.site.file, step.site.line) if step.site is not None else step.step and step.step.owner
        again.setdefault(place, []).append(step)
    told: set[int] = set()
    for steps in again.values():
        leaves = frozenset(use.leaf for step in steps for use in _used_again(history, step))
        if len(steps) >= ENOUGH and not leaves <= told:
            told |= leaves
            yield _diagnose(history, [_adding(history, step) for step in steps], leaves)


def _used_again(history: History, step: Taken) -> list[Use]:
    """The gradients that this step used although an earlier one had, with those of a new pass added to them.

    What the program did with them by hand before an optimizer's step may be an attack on the parameters, or a look
    around (FGM, SAM): no step of training.
    """
    return [use for use in step.uses if use.added_to_used is not None and _by_training(history, step, use)]


def _by_training(history: History, step: Taken, use: Use) -> bool:
    """Had a step of an optimizer used them before, or is all of the training by hand?"""
    before = (history.ledger.fates[run, use.leaf].used_by for run in use.again)
    return step.step is None or any(n >= 0 for used_by in before for n in used_by[: used_by.index(use.step)])


def _adding(history: History, step: Taken) -> Pass:
    """The pass that added to a used gradient: of several, the first that belongs to the step's own iteration."""
    use = _used_again(history, step)[0]
    new = [history.run(run) for run in use.runs if run not in use.again]
    return next((run for run in new if in_one_iteration(run, step)), new[-1])


def _diagnose(history: History, piling: list[Pass], leaves: frozenset[int]) -> Diagnosis:
    site = site_of(piling[0])
    names = sorted(name for leaf in leaves if (name := history.leaf(leaf).name))
    return warning(
        site,
        facts.code("grad", f"{names[0]}.grad" if names else ""),
        facts.count("more", len(leaves) - 1 or None, measured=False),
        remedy=Remedy("zero_grad", Effect.CHANGES_GRADIENTS, "", site, names[0] if names else ""),
        bridge=Bridge(f"{names[0]}.grad" if names else "grad", "attribute"),
        freed=site,
    )


_WHICH = "<{grad}><!grad:a gradient>< and {more} more>"

WORDS = Words(
    fault="gradients of earlier steps are added to those of this step",
    headline="the gradients of earlier steps [were|are] not cleared: each update uses the summed gradients of "
    "several steps",
    why=f"`backward()` adds to `.grad`. {_WHICH} [was|is] used by an update and not cleared after it, so each "
    f"update uses the "
    "summed gradients of several steps.",
    labels={"fault": f"adds to {_WHICH}, which an earlier update already [used|uses]"},
)
