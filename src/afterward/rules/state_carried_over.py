"""AFT103: a state carried over from an earlier step drags its freed graph along."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, Cause, case_of
from afterward.rules._report import diagnosis


@rule("AFT103", Severity.ERROR)
def state_carried_over(history: History) -> Iterator[Diagnosis]:
    """A state built in an earlier step, and renewed in each, leads a pass into freed values."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error == "second_backward" else None
        if case is not None and case.cause is Cause.STATE_CARRIED_OVER:
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    built = say.built_site(case)
    step = built.step_name if built is not None else "an earlier step"
    name = say.name_of(case, "a value")
    restored = case.bridge.restorable if case.bridge is not None else None
    detach = remedy.detach_state(case)
    return diagnosis(
        case,
        why=f"{name} comes out of each step and goes into the next with its history. "
        f"So this step's loss hangs on the graph of {step}, which {say.freed_by(case)} has freed.",
        built_text=f"{name} still holds the graph of {step}",
        remedies=(remedy.restore_input(case, restored), detach) if restored else (detach,),
    )
