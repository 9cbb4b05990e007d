"""AFT108: a custom function reads saved values after they were freed."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules._cause import Case, Cause, cases
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis


@rule("AFT108", Severity.ERROR, breaks=1)
def saved_read_after_free(history: History) -> Iterator[Diagnosis]:
    """A custom function's backward, or the program itself, reads values that an earlier `backward()` freed."""
    for case in cases(history, Cause.SAVED_READ_AFTER_FREE):
        yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    nested = case.reuse.late.nested_in
    if nested is not None:
        again = remedy.recompute_forward(case), remedy.combine_losses(case)
        return diagnosis(case, facts.code("function", nested), remedies=again, form="nested")
    if case.reuse.late.call == "read":
        before = remedy.remove_duplicate(case, "read_before"), remedy.retain_graph(case)
        return diagnosis(case, remedies=before, form="read")
    return diagnosis(case, remedies=(remedy.combine_losses(case), remedy.retain_graph(case)))


_FAULT = "a saved value is read after it was freed"
_SAVED = {"built": "[saved|is saved] here< ({amount})>"}

WORDS = {
    "": Words(
        fault=_FAULT,
        headline="a custom `backward()` reads saved values that {freed_by} [already freed|frees]",
        why="This `backward()` reads what its `forward()` [saved|saves]. {freed_by} [already went|goes] through here "
        "and [freed|frees] it.",
        labels=_SAVED,
    ),
    "nested": Words(
        fault=_FAULT,
        headline="{function} calls `backward()` a second time on a graph that it keeps",
        why="The backward of {function} calls `backward()` on a graph that it keeps. The first call [freed|frees] that "
        "graph; the second has no graph left.",
        labels=_SAVED,
    ),
    "read": Words(
        fault=_FAULT,
        headline="a saved value is read that {freed_by} [already freed|frees]",
        why="This line reads a value that a node [saved|saves]. {freed_by} [already freed|frees] it.",
        labels={**_SAVED, "reused": "reads a saved value that {freed_by} [freed|frees]"},
    ),
}
