"""AFT102: two losses depend on one forward pass, and each has its own backward."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Form, Remedy, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules._cause import Case, Cause, cases, leaves_directly_under
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis
from afterward.rules._retaining import derivative_is_meant, is_cleared, is_reduced_once, is_spoilt, is_taken_apart


@rule("AFT102", Severity.ERROR, breaks=1)
def losses_share_forward(history: History) -> Iterator[Diagnosis]:
    """Two losses depend on one forward pass; the first `backward()` frees what the second needs."""
    for case in cases(history, Cause.LOSSES_SHARE_FORWARD):
        feeds = history.feeds(case.reuse.early, case.reuse.late)
        yield diagnosis(case, remedies=_remedies(case), form="derivative" if feeds else "")


def _remedies(case: Case) -> tuple[Remedy, ...]:
    early = case.reuse.early
    if derivative_is_meant(case):
        return remedy.create_graph(case), remedy.recompute_forward(case)
    if early is not None and early.call == "grad":
        return remedy.retain_graph(case), remedy.recompute_forward(case)
    if case.old_leaves_stepped:  # the shared values are out of date: a sum cannot be formed any more
        if case.bridge is not None and case.bridge.is_target:  # what a loss is to meet is data
            return remedy.detach_input(case), remedy.recompute_forward(case)
        return remedy.recompute_forward(case), remedy.detach_input(case)
    if is_spoilt(case):  # by hand, as to climb before the second pass: that asks for the values at the new place
        return (remedy.recompute_forward(case),)
    if case.stepped_between and (is_cleared(case) or not leaves_directly_under(case.history, case.reuse.fresh)):
        # The optimizer that stepped holds nothing of the shared part, and what its loss produced there was cleared, or
        # this loss trains that part alone: to the other one it is data.
        return remedy.detach_input(case, Form.READ_EARLY), remedy.recompute_forward(case)
    if is_taken_apart(case):
        return remedy.retain_graph(case), remedy.recompute_forward(case)
    if case.foreign and not _is_trained(case):
        return remedy.detach_input(case, Form.UNTRAINED), remedy.recompute_forward(case)
    if case.bridge is not None and case.bridge.is_target and case.foreign:
        # Two losses learn to meet one target: neither is meant to train what the target was computed by.
        return remedy.detach_input(case, Form.MADE), remedy.combine_losses(case)
    if is_reduced_once(case):  # a second backward over one forward pass would not be reduced across ranks
        return remedy.combine_losses(case), remedy.recompute_forward(case)
    return remedy.combine_losses(case), remedy.retain_graph(case)


def _is_trained(case: Case) -> bool:
    """Does an optimizer hold anything under the shared part?"""
    return bool(case.history.optimizers_of(leaves_directly_under(case.history, case.reuse.stale)))


_FAULT = "two losses share one forward pass, each with its own `backward()`"
_HEADLINE = "<{value} is used in two losses, each with its own `backward()`><!value:" + _FAULT + ">"

WORDS = {
    "": Words(
        fault=_FAULT,
        headline=_HEADLINE,
        why="Both losses [were|are] computed from <{value}><!value:one forward pass>. {freed_by} [went|goes] through "
        "that part and [freed|frees] it; this `backward()` reaches it again from the other loss.",
        labels={"built": "both losses are computed from this< ({amount})>"},
    ),
    "derivative": Words(
        fault=_FAULT,
        headline="<{value}><!value:one forward pass> is used by a derivative and by this loss, and the derivative "
        "[freed|frees] its graph",
        why="What {freed_by} [returned|returns] [went|goes] into this loss without a graph. Computing it [went|goes] "
        "through the graph of <{value}><!value:the forward pass> and [freed|frees] it; this `backward()` reaches "
        "that graph by another path.",
        labels={"built": "the derivative and this loss are computed from this< ({amount})>"},
    ),
}
