"""AFT106: `backward()` is called on a running sum of losses that keeps its graph."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Remedy, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules._cause import Case, Cause, cases
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis


@rule("AFT106", Severity.ERROR, breaks=1)
def loss_accumulated(history: History) -> Iterator[Diagnosis]:
    """`backward()` is called on a running sum that still contains losses whose graphs were freed."""
    for case in cases(history, Cause.LOSS_ACCUMULATED):
        yield diagnosis(case, remedies=_remedies(case))


def _remedies(case: Case) -> tuple[Remedy, ...]:
    """A sum can have one backward at the end, unless an update came between: that one is gone from the sum."""
    alone = remedy.remove_duplicate(case, "old_terms")
    return (alone,) if case.stepped_between else (alone, remedy.combine_losses(case))


WORDS = Words(
    fault="a running sum still contains a loss whose graph was freed",
    headline="<{value}><!value:the sum> still contains a loss whose graph {freed_by} [already freed|frees]",
    why="<{value}><!value:The sum> adds up losses together with their graphs. It still contains a loss whose graph "
    "{freed_by} [already freed|frees].",
    labels={"built": "an earlier loss, still in the sum< ({amount})>"},
)
