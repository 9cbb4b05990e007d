"""AFT101: `backward()` goes through the same graph a second time, with nothing recomputed in between."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Remedy, Severity
from afterward.model.history import History, Pass
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules._cause import Case, Cause, cases
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis
from afterward.rules._retaining import derivative_is_meant, graph_is_meant


@rule("AFT101", Severity.ERROR, breaks=1)
def backward_twice(history: History) -> Iterator[Diagnosis]:
    """`backward()` is called again on a loss, and nothing was recomputed in between."""
    for case in cases(history, Cause.BACKWARD_TWICE):
        yield diagnosis(case, remedies=_remedies(case))


def _remedies(case: Case) -> tuple[Remedy, ...]:
    part, built, early = case.reuse.passes_part, case.reuse.built_parts, case.reuse.early
    again, drop = remedy.recompute_forward(case), remedy.remove_duplicate(case, "later")
    if derivative_is_meant(case):
        return remedy.create_graph(case), again
    if graph_is_meant(case):
        return remedy.retain_graph(case), again
    if early is not None and early.call == "grad" and case.reuse.late.call == "backward" and not case.stepped_between:
        # What `autograd.grad` computed was only returned: it is this pass that trains.
        return remedy.retain_graph(case), remedy.remove_duplicate(case, "earlier_grad")
    if early is not None and _inside(early, case.reuse.late):
        return remedy.remove_duplicate(case, "librarys"), again
    if len(case.reuse.late.roots) > 1 and case.reuse.fresh:
        # Of several roots only some had their backward: this pass does what the earlier one did, and more.
        return remedy.remove_duplicate(case, "earlier"), again
    if part is not None and built is not None and part.how in ("iterations", "calls") and built.how == "outside":
        return again, drop  # each iteration means to call it: it lacks a forward pass of its own
    return drop, again


def _inside(early: Pass, late: Pass) -> bool:
    """Did the program call the earlier pass within what a library called, which then calls the later one itself?

    As in `training_step`, where `trainer.fit` trains: the statement of the later pass is still running.
    """
    if early.where is None or late.where is None:
        return False
    return len(early.where.levels) > len(late.where.levels) and early.where.runs_under(late.where)


WORDS = Words(
    fault="`backward()` is called twice on one graph",
    headline="`backward()` [was|is] called a second time on <{value}><!value:this loss>, whose graph [was|is] "
    "already freed",
    why="{freed_by} [already went|already goes] through <{value}><!value:this loss> and [freed|frees] its graph. "
    "Nothing [was|is] recomputed in between.",
    labels={"built": "computed once here< ({amount})>"},
)
