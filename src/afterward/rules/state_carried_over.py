"""AFT103: a state carried over from an earlier step still holds its freed graph."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules import _sites as at
from afterward.rules import rule
from afterward.rules._cause import Case, Cause, case_of
from afterward.rules._report import diagnosis


@rule("AFT103", Severity.ERROR)
def state_carried_over(history: History) -> Iterator[Diagnosis]:
    """A value from an earlier step, replaced in every step, connects this step's loss to a freed graph."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error == "second_backward" else None
        if case is not None and case.cause is Cause.STATE_CARRIED_OVER:
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    restored = case.bridge.restorable if case.bridge is not None else None
    detach = remedy.detach_state(case)
    return diagnosis(
        case,
        facts.step("built_step", at.built_site(case)),
        facts.step("step", at.reused_site(case)),
        remedies=(remedy.restore_input(case, restored), detach) if restored else (detach,),
        read_is_built=True,
    )


WORDS = Words(
    fault="a value carries a freed graph into a later step",
    headline="<{value}><!value:a value> carries a freed graph into <{step}><!step:a later step>",
    why="<{value}><!value:a value> carries its graph from one step to the next, so this loss depends on the graph of "
    "<{built_step}><!built_step:an earlier step>. {freed_by} [already freed|frees] it.",
    labels={
        "built": "<{value}><!value:it> holds the graph of <{built_step}><!built_step:an earlier step>< ({amount})>",
        "read": "still holds the graph of <{built_step}><!built_step:an earlier step>< ({amount})>",
        "freed": "<{at_step} [freed|frees]><!at_step:this call [freed|frees]> that graph here",
        "reused": "<{at_step} needs it again here><!at_step:needs that graph again>",
    },
)
