"""AFT103: a state carried over from an earlier step still holds its freed graph."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Remedy, Severity
from afterward.model.history import GRADIENT, History
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules import _sites as at
from afterward.rules._cause import Case, Cause, cases
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis


@rule("AFT103", Severity.ERROR, breaks=1)
def state_carried_over(history: History) -> Iterator[Diagnosis]:
    """A value from an earlier step, replaced in every step, connects this step's loss to a freed graph."""
    for case in cases(history, Cause.STATE_CARRIED_OVER):
        yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    return diagnosis(
        case,
        facts.step("built_step", at.built_site(case)),
        facts.step("step", at.reused_site(case)),
        remedies=_remedies(case),
        read_is_built=True,
    )


def _remedies(case: Case) -> tuple[Remedy, ...]:
    """A state is detached; an input is put back; a gradient, to which each step adds, is cleared."""
    bridge = case.bridge
    if bridge is not None and bridge.kind == GRADIENT:
        return (Remedy("zero_grad", Effect.CHANGES_GRADIENTS, "", at.built_site(case), bridge.name),)
    if bridge is not None and bridge.restorable:
        return remedy.restore_input(case, bridge.restorable), remedy.detach_state(case)
    return (remedy.detach_state(case),)


WORDS = Words(
    fault="a value carries a freed graph into a later step",
    headline="<{value}><!value:a value> carries a freed graph into <{step}><!step:a later step>",
    why="<{value}><!value:A value> carries its graph from one step to the next, so this loss depends on the graph of "
    "<{built_step}><!built_step:an earlier step>. {freed_by} [already freed|frees] it.",
    labels={
        "built": "<{value}><!value:it> holds the graph of <{built_step}><!built_step:an earlier step>< ({amount})>",
        "read": "still holds the graph of <{built_step}><!built_step:an earlier step>< ({amount})>",
        "freed": "<{at_step} [freed|frees]><!at_step:this call [freed|frees]> that graph here",
        "reused": "<{at_step} needs it again here><!at_step:needs that graph again>",
    },
)
