"""AFT102: two losses hang on one forward pass, and each is swept on its own."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Form, Remedy, Severity
from afterward.model.history import History
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, Cause, case_of, leaves_directly_under
from afterward.rules._report import diagnosis
from afterward.rules._retaining import is_reduced_once, is_spoilt


@rule("AFT102", Severity.ERROR)
def losses_share_forward(history: History) -> Iterator[Diagnosis]:
    """Two losses hang on one forward pass; the first backward frees what the second needs."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error == "second_backward" else None
        if case is not None and case.cause is Cause.LOSSES_SHARE_FORWARD:
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    name = say.name_of(case, "one forward pass")
    if _is_derivative(case):
        return diagnosis(
            case,
            why=f"What {say.freed_by(case)} returned went into this loss without a history. "
            f"Taking it walked the graph of {name} and freed it; this pass comes to that graph by another way.",
            built_text="the derivative and this loss come from here",
            remedies=_remedies(case),
        )
    return diagnosis(
        case,
        why=f"Both losses were computed from {name}. "
        f"{say.freed_by(case).capitalize()} walked that part and freed it; this pass comes to it from the other loss.",
        built_text="both losses come from here",
        remedies=_remedies(case),
    )


def _is_derivative(case: Case) -> bool:
    """Is what the earlier pass returned a part of the later loss?"""
    early = case.reuse.early
    return early is not None and early.call == "grad" and (early.id, case.reuse.late.id) in case.history.links


def _remedies(case: Case) -> tuple[Remedy, ...]:
    early = case.reuse.early
    if _is_derivative(case):
        return remedy.create_graph(case), remedy.recompute_forward(case)
    if early is not None and early.call == "grad":
        return remedy.retain_graph(case), remedy.recompute_forward(case)
    if case.old_leaves_stepped:  # the shared values are out of date: a sum cannot be formed any more
        return remedy.recompute_forward(case), remedy.detach_input(case)
    if is_spoilt(case):  # by hand, as to climb before the second pass: that asks for the values at the new place
        return (remedy.recompute_forward(case),)
    if case.stepped_between and not leaves_directly_under(case.history, case.reuse.fresh):
        # This loss trains the shared part alone, and the optimizer that stepped none of it: to its loss, that is data.
        return remedy.detach_input(case, Form.READ_EARLY), remedy.recompute_forward(case)
    if case.bridge is not None and case.bridge.is_target and case.foreign:
        # Two losses learn to meet one target: neither is meant to train what the target was computed by.
        return remedy.detach_input(case, Form.MADE), remedy.combine_losses(case)
    if is_reduced_once(case):  # a second backward over one forward pass would not be reduced across ranks
        return remedy.combine_losses(case), remedy.recompute_forward(case)
    return remedy.combine_losses(case), remedy.retain_graph(case)
