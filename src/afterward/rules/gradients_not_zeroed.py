"""AFT402: an update uses gradients that an earlier update has used: they add up over steps, or are used twice."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.gradients import Use
from afterward.model.history import History, Optimizer, Pass
from afterward.model.site import dated_site
from afterward.model.words import Words
from afterward.rules._gradients import (
    Taken,
    in_one_iteration,
    never_stepping,
    own_passes,
    steps_of_optimizers,
    steps_that_used,
)
from afterward.rules._often import AGAIN
from afterward.rules._registry import rule
from afterward.rules._silent import site_of, warning


@rule("AFT402", Severity.WARNING, breaks=5)
def gradients_not_zeroed(history: History) -> Iterator[Diagnosis]:
    """Updates use gradients that still contain those of earlier steps."""
    again: dict[object, list[Taken]] = {}
    for step in (step for steps in steps_that_used(history) for step in steps if _used_again(history, step)):
        # Optimizers that one statement steps, as one made for each task, have one fault in common.
        place = (step.site.file, step.site.line) if step.site is not None else step.step and step.step.owner
        again.setdefault(place, []).append(step)
    told: set[int] = set()
    for steps in again.values():
        leaves = frozenset(use.leaf for step in steps for use in _used_again(history, step))
        few = history.observed and not _ever_cleared(history, leaves)
        if (len(steps) >= AGAIN or few) and not leaves <= told:
            told |= leaves
            yield _diagnose(history, [_adding(history, step) for step in steps], leaves)
    if any(never_stepping(history)):
        return  # AFT410: another optimizer's step was meant
    for steps in steps_of_optimizers(history):
        twice = [step for step in steps if _used_before(history, step)]
        if len(twice) >= AGAIN:
            yield _diagnose_same(history, twice)


def _ever_cleared(history: History, leaves: frozenset[int]) -> bool:
    """Was any gradient of these leaves cleared, or lost from sight? If none was, in a whole run, one use will do."""
    return any(fate.cleared or fate.unseen for (_, leaf), fate in history.ledger.fates.items() if leaf in leaves)


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


def _used_before(history: History, step: Taken) -> list[Use]:
    """The gradients that this optimizer has used before, to which nothing was added since, though passes ran.

    Where none ran, the step may be tried again on purpose, with another learning rate.
    """
    return [use for use in step.uses if use.again == frozenset(use.runs) and _by_itself(history, step, use)]


def _by_itself(history: History, step: Taken, use: Use) -> bool:
    before = (one for one in history.ledger.uses if one.leaf == use.leaf and one.at < use.at and one.step >= 0)
    mine = [one for one in before if set(one.runs) & set(use.runs)]  # not what was only read by hand since
    if not mine or step.step is None or history.step(mine[-1].step).owner != step.step.owner:
        return False
    changed = any(history.ledger.fates[run, use.leaf].changed for run in use.runs)
    return not changed and any(mine[-1].at < at < use.at for at, _, _ in history.ledger.productions)


def _waiting(history: History, step: Taken) -> tuple[Optimizer, Pass] | None:
    """The optimizer that the pass just before a step computed gradients for, which no step used in time."""
    runs = [(run, leaves) for at, run, leaves in history.ledger.productions if at < step.at]
    run, leaves = runs[-1]
    fates = history.ledger.produced_by(run)
    for one in history.optimizers:
        mine = one.leaves & leaves
        if mine and not any(fates[leaf].used_by for leaf in mine):
            return one, history.run(run)
    return None


def _adding(history: History, step: Taken) -> Pass:
    """The pass that added to a used gradient: of several, the step's own first one, in its own iteration."""
    use = _used_again(history, step)[0]
    runs = own_passes(history, step, [run for run in use.runs if run not in use.again])
    new = [history.run(run) for run in runs]
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
        by=piling[0],
    )


def _diagnose_same(history: History, twice: list[Taken]) -> Diagnosis:
    step, uses = twice[0], _used_before(history, twice[0])
    assert step.step is not None
    name, waiting = step.step.optimizer, _waiting(history, step)
    first = history.ledger.fates[uses[0].runs[-1], uses[0].leaf].used_by[0]
    used = dated_site(history.step(first).where) if first >= 0 else None
    made = history.run(uses[0].runs[-1])
    site = step.site or site_of(made)
    if waiting is not None:
        other, run = waiting
        update = facts.code("update", f"{other.name}.step()")
        remedy = Remedy("move_step", Effect.CHANGES_GRADIENTS, "never", site_of(run), other.name, facts=(update,))
    else:
        remedy = Remedy("zero_grad", Effect.CHANGES_GRADIENTS, "", site, name)
    return warning(
        site,
        facts.code("optimizer", name),
        facts.code("other", waiting[0].name if waiting is not None else ""),
        facts.lines("made", site_of(waiting[1]) if waiting is not None else None),
        facts.count("times", len(twice), "step"),
        remedy=remedy,
        form="same",
        secondary=(Label(used, "used"),) if used is not None and used != site else (),
        bridge=Bridge("grad", "attribute"),
        by=waiting[1] if waiting is not None else made,
    )


_WHICH = "<{grad}><!grad:a gradient>< and {more} more>"
_WERE = "<?more:[were|are]><!more:[was|is]>"

_ADDED = Words(
    fault="gradients of earlier steps are added to those of this step",
    headline=f"{_WHICH} {_WERE} not cleared: each update uses the summed gradients of several steps",
    why=f"`backward()` adds to `.grad`. An update uses {_WHICH}, which {_WERE} not cleared after it: each update uses "
    "the summed gradients of several steps.",
    labels={"fault": f"adds to {_WHICH}, which an earlier update already [used|uses]"},
)

WORDS = {
    "": _ADDED,
    "same": Words(
        fault="an optimizer steps again with gradients that it has used already",
        headline="{optimizer} steps again with gradients that it already used",
        why="Since its last step, no `backward()` [computed|computes] new gradients for {optimizer}, and nothing "
        "[cleared|clears] the old ones< ({times} that were looked at)>: each of these gradients counts twice.< The "
        "`backward()` just before, on {made}, computes gradients for {other}.>",
        labels={"fault": "uses the same gradients again", "used": "used them first"},
    ),
}
