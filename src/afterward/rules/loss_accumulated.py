"""AFT106: a running sum of losses, with its history, is swept."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Remedy, Severity
from afterward.model.history import History
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, Cause, case_of
from afterward.rules._report import diagnosis


@rule("AFT106", Severity.ERROR)
def loss_accumulated(history: History) -> Iterator[Diagnosis]:
    """A running sum holds losses that were swept before, and is swept itself."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error == "second_backward" else None
        if case is not None and case.cause is Cause.LOSS_ACCUMULATED:
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    name = say.name_of(case, "the sum")
    return diagnosis(
        case,
        why=f"{name} adds up losses with their history. "
        f"It still holds a loss that {say.freed_by(case)} has already swept and freed.",
        built_text="an earlier loss, still in the sum",
        remedies=_remedies(case),
    )


def _remedies(case: Case) -> tuple[Remedy, ...]:
    """A sum can be swept once at the end, unless an update came between: that one is gone from the sum."""
    alone = remedy.remove_duplicate(case, "old_terms")
    return (alone,) if case.stepped_between else (alone, remedy.combine_losses(case))
