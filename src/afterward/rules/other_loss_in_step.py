"""AFT409: another network's loss gets into a step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.gradients import Use
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules._gradients import Taken, steps_of_optimizers
from afterward.rules._often import AGAIN
from afterward.rules._registry import rule
from afterward.rules._silent import site_of, warning


@rule("AFT409", Severity.WARNING, breaks=7)
def other_loss_in_step(history: History) -> Iterator[Diagnosis]:
    """A step also uses the gradients of a loss that another optimizer has already stepped for."""
    for steps in steps_of_optimizers(history):
        used = [step for step in steps if step.uses and step.step is not None]
        mixed = [(step, found) for step in used if (found := _foreign(history, step))]
        if len(mixed) >= max(AGAIN, len(used) - 1):
            yield _diagnose(history, *mixed[-1], len(mixed))


def _foreign(history: History, step: Taken) -> list[tuple[Use, int, int]]:
    """The gradients in a step whose pass another optimizer had used before the next pass began: (use, pass, step)."""
    found = []
    for use in step.uses:
        if _has_no_loss_of_its_own(history, step, use):
            continue
        for run, later in pairwise(use.runs):
            taken = _taken_by_another(history, step, run, later)
            if taken is not None and not use.again:
                found.append((use, run, taken))
    return found


def _has_no_loss_of_its_own(history: History, step: Taken, use: Use) -> bool:
    """Have other optimizers used every pass already, as where an encoder steps last, for all of its decoders?"""
    return all(_users_before(history, step, run) for run in use.runs)


def _users_before(history: History, step: Taken, run: int) -> list[int]:
    """The steps of other optimizers, with other parameters, that used the gradients of a pass before this step."""
    assert step.step is not None
    numbers = {number for fate in history.ledger.produced_by(run).values() for number in fate.used_by if number >= 0}
    return [
        number
        for number in sorted(numbers)
        if (other := history.step(number)).owner != step.step.owner
        and not other.leaves & step.step.leaves
        and other.moment < step.step.moment
    ]


def _taken_by_another(history: History, step: Taken, run: int, later: int) -> int | None:
    moments = history.run(run).moment, history.run(later).moment
    users = (number for number in _users_before(history, step, run))
    return next((number for number in users if moments[0] < history.step(number).moment < moments[1]), None)


def _diagnose(history: History, step: Taken, found: list[tuple[Use, int, int]], times: int) -> Diagnosis:
    assert step.step is not None
    use, run, taken = found[0]
    name, other = step.step.optimizer, history.step(taken).optimizer
    own = site_of(history.run(use.runs[-1]))
    made = site_of(history.run(run))
    leaves = [use.leaf for use, _, _ in found]
    names = tuple(dict.fromkeys(history.leaf(leaf).name for leaf in leaves))
    return warning(
        made,
        facts.code("other", other),
        facts.code("optimizer", name),
        facts.names("who", names),
        facts.count("parameters", len(leaves), "parameter", measured=False),
        facts.lines("made", made),
        facts.lines("own", own),
        facts.count("times", times, "step"),
        remedy=Remedy(
            "zero_grad",
            Effect.CHANGES_GRADIENTS,
            "own_loss",
            own,
            name,
            facts=(facts.code("clear", f"{name}.zero_grad()"), facts.lines("lines", own)),
        ),
        secondary=(
            Label(own, "own"),
            *((Label(step.site, "used"),) if step.site is not None else ()),
        ),
        bridge=Bridge(f"{names[0]}.grad" if names and names[0] else "grad", "attribute"),
        freed=made,
    )


_WHO = "<{who}><!who:{parameters}>"

WORDS = Words(
    fault="the loss of another optimizer gets into the steps of an optimizer",
    headline="the loss of {other} also gets into the steps of {optimizer}",
    why=f"{{other}} [stepped|steps] with the gradients of {{made}}. They stay in {_WHO}, {{own}} adds its own, and "
    "{optimizer} uses the sum< ({times} that were looked at)>.",
    labels={
        "fault": f"also adds to the gradients of {_WHO}",
        "own": "adds the gradients that the step is for",
        "used": "uses the sum of both",
    },
)
