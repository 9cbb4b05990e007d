"""AFT101: the same graph is swept a second time, with nothing new built in between."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, Cause, case_of
from afterward.rules._report import diagnosis
from afterward.rules._retaining import graph_is_meant


@rule("AFT101", Severity.ERROR)
def backward_twice(history: History) -> Iterator[Diagnosis]:
    """A pass starts again from nodes that an earlier pass already swept."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error == "second_backward" else None
        if case is not None and case.cause is Cause.BACKWARD_TWICE:
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    name = say.name_of(case, "this loss")
    part, built = case.reuse.passes_part, case.reuse.built_parts
    drop = remedy.remove_duplicate(case, "later")
    remedies = (drop, remedy.recompute_forward(case))
    if part is not None and built is not None and part.how in ("turns", "calls") and built.how == "outside":
        remedies = (remedy.recompute_forward(case), drop)  # each turn means to sweep: it lacks a forward of its own
    if len(case.reuse.late.roots) > 1 and case.reuse.fresh:
        # Of several roots only some were swept before: this pass does what the earlier one did, and more.
        drop = remedy.remove_duplicate(case, "earlier")
        remedies = (drop, remedy.recompute_forward(case))
    early = case.reuse.early
    if early is not None and early.call == "grad" and case.reuse.late.call == "backward" and not case.stepped_between:
        # What `autograd.grad` computed was only returned: it is this pass that trains.
        remedies = (remedy.retain_graph(case), remedy.remove_duplicate(case, "earlier_grad"))
    if graph_is_meant(case):
        remedies = (remedy.retain_graph(case), remedy.recompute_forward(case))
    return diagnosis(
        case,
        why=f"{name} was swept before, by {say.freed_by(case)}, and that freed its graph. "
        "Nothing was computed anew in between, so this pass finds nothing left to walk.",
        built_text="built once here",
        remedies=remedies,
    )
