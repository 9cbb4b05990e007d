"""AFT108: a custom function reads saved values after they were freed."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Remedy, Severity
from afterward.model.history import History
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, Cause, case_of
from afterward.rules._report import diagnosis

READ = "a saved value is read that was already freed"


@rule("AFT108", Severity.ERROR)
def saved_read_after_free(history: History) -> Iterator[Diagnosis]:
    """A custom function's backward, or the program itself, reads values that an earlier pass has freed."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error == "second_backward" else None
        if case is not None and case.cause is Cause.SAVED_READ_AFTER_FREE:
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    nested = case.reuse.late.nested_in
    if nested is not None:
        why = (
            f"The backward of `{nested}` runs a pass of its own over a graph that it keeps. "
            "That pass freed the graph the first time; the second time there is nothing left."
        )
        remedies: tuple[Remedy, ...] = (remedy.recompute_forward(case), remedy.combine_losses(case))
    elif case.reuse.late.call == "read":
        why = f"This line reads a value that a node had saved. {say.freed_by(case).capitalize()} has freed it."
        remedies = (
            remedy.remove_duplicate(case, "read_before"),
            remedy.retain_graph(case),
        )
        return diagnosis(case, message=READ, why=why, built_text="saved here", remedies=remedies)
    else:
        why = (
            "This backward reads what its forward had saved. "
            f"{say.freed_by(case).capitalize()} has been through here before and freed it."
        )
        remedies = (remedy.combine_losses(case), remedy.retain_graph(case))
    return diagnosis(case, why=why, built_text="saved here", remedies=remedies)
