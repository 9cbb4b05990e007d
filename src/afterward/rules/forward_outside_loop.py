"""AFT104: a value computed once, outside the loop or closure that calls backward through it again and again."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Form, Remedy, Severity
from afterward.model.history import History
from afterward.model.operations import COMPARING, operation
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules import _sites as at
from afterward.rules._cause import Case, Cause, cases, leaves_directly_under
from afterward.rules._computed_again import is_computed_again
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis
from afterward.rules._retaining import both_fill_grad, graph_is_meant, is_cleared, is_spoilt, shared_parameters


@rule("AFT104", Severity.ERROR, breaks=1)
def forward_outside_loop(history: History) -> Iterator[Diagnosis]:
    """A forward pass is computed once, outside the loop that calls `backward()` through it in every iteration."""
    for case in cases(history, Cause.FORWARD_OUTSIDE_LOOP):
        yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    part = case.reuse.passes_part
    form = "closure" if part is not None and part.how == "calls" else ""
    if case.loop is not None and case.loop.cell:
        form = "cell"
    return diagnosis(case, remedies=remedies(case), form=form)


def is_target(case: Case) -> bool:
    """Does the value enter a loss function as what is to be met, not as what is trained?"""
    if case.bridge is not None and case.bridge.is_target:
        return True
    consumer, node = case.reuse.entry.consumer, case.reuse.entry.node
    if consumer is None or operation(consumer.op) not in COMPARING or len(consumer.inputs) < 2:
        return False
    return consumer.inputs[1].node == node.id


def remedies(case: Case) -> tuple[Remedy, ...]:
    """Data is detached; what is trained is recomputed, or has one backward when no step comes between."""
    if graph_is_meant(case) or _only_read_off(case):
        return remedy.retain_graph(case), remedy.recompute_forward(case)
    if case.foreign and case.meant_for_late and case.next_iteration_meets_it:
        return remedy.recompute_forward(case), _detach(case)  # the cut alone would only help until the next iteration
    accumulating = _is_accumulating(case)
    if accumulating and case.foreign and not is_target(case) and _steps_the_old(case):
        return remedy.combine_losses(case), _detach(case)
    if case.foreign or is_target(case) or (is_computed_again(case) and not accumulating):
        return _detach(case), remedy.recompute_forward(case)
    if not case.stepped_between and _dropped_between(case):
        return remedy.detach_input(case, Form.READ_EARLY), remedy.recompute_forward(case)
    if accumulating and not case.reuse.starts_in_stale:
        return remedy.combine_losses(case), remedy.recompute_forward(case)
    if not leaves_directly_under(case.history, case.reuse.fresh):
        return (remedy.recompute_forward(case),)  # detached, it would leave the pass nothing to train
    return remedy.recompute_forward(case), remedy.detach_input(case)


def _is_accumulating(case: Case) -> bool:
    """Do the iterations add up gradients of what is shared, with no step between them and nothing cleared?"""
    part = case.reuse.passes_part
    trained = case.history.optimizers_of(leaves_directly_under(case.history, case.reuse.stale))
    repeated = part is not None and part.how == "iterations"
    return repeated and bool(trained) and not case.stepped_between and not is_cleared(case)


def _steps_the_old(case: Case) -> bool:
    """Is a step to come for the old part, as far as the program shows? Then it is trained by all these losses."""
    trains = case.reuse.late.trains
    return not trains or bool(
        trains & case.history.optimizers_of(leaves_directly_under(case.history, case.reuse.stale))
    )


def _dropped_between(case: Case) -> bool:
    """Were some gradients of the earlier pass kept, and others zeroed before any step? To it, those were data."""
    dropped = _cleared_since(case)
    return any(dropped) and not all(dropped)


def _only_read_off(case: Case) -> bool:
    """Is each pass over the same values alone, and a gradient read and cleared after it, with nothing trained? As for
    a map of what each class sees."""
    trained = case.history.optimizers_of(shared_parameters(case))
    asked_again = not trained and not leaves_directly_under(case.history, case.reuse.fresh)
    return asked_again and any(_cleared_since(case)) and not is_spoilt(case)


def _cleared_since(case: Case) -> list[bool]:
    """Of what both passes reach and the earlier one added to: was it cleared before the later one?"""
    if case.reuse.early is None or not both_fill_grad(case):
        return []
    produced = case.history.ledger.produced_by(case.reuse.early.id)
    fates = [produced[leaf] for leaf in shared_parameters(case) if leaf in produced]
    return [fate.cleared for fate in fates if not fate.unseen]


def _detach(case: Case) -> Remedy:
    """The value is data for some of the losses that it enters: for those that its own optimizer does not step."""
    if not case.foreign and not is_target(case):
        return remedy.detach_input(case, "recomputed")
    owners = at.owners_of_old_part(case)
    if not case.foreign or not owners:
        return remedy.detach_input(case)
    return remedy.detach_input(case, Form.READ_OTHER, facts.names("owner", owners))


def _words(again: str, outside: str) -> Words:
    return Words(
        fault="a value is computed once, outside the loop that calls `backward()` through it",
        headline=f"<{{value}}><!value:a value> is computed once, {outside}, and {again} calls `backward()` through it",
        why=f"<{{value}}><!value:This value> is computed once, and {again} calls `backward()` through it. The "
        f"first call "
        "({freed_by}) [freed|frees] its graph; the next one has no graph left.",
        labels={"built": f"<{{value}}><!value:this> is computed once, {outside}< ({{amount}})>"},
    )


WORDS = {
    "": _words("every iteration", "outside the loop"),
    "closure": _words("every call of the closure", "outside the closure"),
    "cell": _words("every run of the cell", "in another cell"),
}
