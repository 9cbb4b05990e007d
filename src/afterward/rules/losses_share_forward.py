"""AFT102: two losses hang on one forward pass, and each is swept on its own."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Remedy, Severity
from afterward.model.history import History
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, Cause, case_of, leaves_directly_under


@rule("AFT102", Severity.ERROR)
def losses_share_forward(history: History) -> Iterator[Diagnosis]:
    """Two losses hang on one forward pass; the first backward frees what the second needs."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error == "second_backward" else None
        if case is not None and case.cause is Cause.LOSSES_SHARE_FORWARD:
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    name = say.name_of(case, "one forward pass")
    return say.diagnosis(
        case,
        why=f"Both losses were computed from {name}. "
        f"{say.freed_by(case).capitalize()} walked that part and freed it; this pass comes to it from the other loss.",
        built_text="both losses come from here",
        remedies=_remedies(case),
    )


def _remedies(case: Case) -> tuple[Remedy, ...]:
    early = case.reuse.early
    if early is not None and early.call == "grad":
        if (early.id, case.reuse.late.id) in case.history.links:
            return say.create_graph(case), say.recompute_forward(case)
        return say.retain_graph(case, start=""), say.recompute_forward(case)
    if case.old_leaves_stepped:  # the shared values are out of date: a sum cannot be formed any more
        return say.recompute_forward(case), say.detach_input(case)
    if case.stepped_between and not leaves_directly_under(case.history, case.reuse.fresh):
        # This loss trains the shared part alone, and the optimizer that stepped none of it: to its loss, that is data.
        return say.detach_input(case, in_early=True), say.recompute_forward(case)
    return say.combine_losses(case), say.retain_graph(case)
