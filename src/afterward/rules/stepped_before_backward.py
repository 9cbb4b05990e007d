"""AFT201: parameters were changed between the forward pass and the pass that needs them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Label, Remedy, Role, Severity
from afterward.model.facts import Note
from afterward.model.history import History, Step, Write
from afterward.model.site import Site
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules import _sites as at
from afterward.rules._cause import Case, Cause, case_of
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis
from afterward.rules.history_cached import remedies as cached_remedies


@rule("AFT201", Severity.ERROR, breaks=2)
def stepped_before_backward(history: History) -> Iterator[Diagnosis]:
    """A parameter is modified, as by an optimizer step, between the forward pass and the `backward()` that needs it."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error == "inplace" else None
        if case is not None and writes_parameters(case):
            yield _diagnose(case)


def writes_parameters(case: Case) -> bool:
    """Was what the graph needs a parameter, changed by an optimizer or by hand?"""
    return isinstance(case.reuse.write, Step) or case.reuse.written is not None


def _diagnose(case: Case) -> Diagnosis:
    reuse, write = case.reuse, case.reuse.write
    where = write.where if write is not None else None
    written = where.site_at(case.loop) if where is not None else None
    built = reuse.culprit.where.site_at(case.loop) if reuse.culprit.where is not None else None
    parameter = facts.code("parameter", reuse.written.name if reuse.written is not None else "")
    update = at.update_of(write) if isinstance(write, Step) else facts.lines("write", written)
    hidden = isinstance(write, Write) and bool(write.how)  # it belongs to the forward pass: it cannot be put off
    general = diagnosis(case, remedies=(remedy.out_of_place(case),) if hidden else _remedies(case, written))
    labels = [Label(site, role) for site, role in ((built, Role.BUILT), (written, Role.WRITTEN)) if site is not None]
    return replace(
        general,
        form="" if isinstance(write, Step) else "by_hand",
        secondary=tuple(labels),
        facts=(parameter, update),
        notes=_notes(case),
        retain=None,
        built=built,
        written=written,
        bridge=Bridge(write.target, "local") if isinstance(write, Write) else general.bridge,
    )


def _remedies(case: Case, written: Site | None) -> tuple[Remedy, ...]:
    if case.cause is Cause.STATE_CARRIED_OVER:
        return (remedy.detach_state(case),)
    if case.cause is Cause.HISTORY_CACHED:
        return cached_remedies(case)
    if case.cause is Cause.FORWARD_OUTSIDE_LOOP:
        if case.foreign:
            return remedy.detach_input(case), remedy.recompute_forward(case)
        return (remedy.recompute_forward(case),)
    if case.cause is Cause.LOSS_ACCUMULATED:
        return (remedy.remove_duplicate(case, "old_terms"),)
    if _goes_into_stepped_network(case):
        return remedy.detach_input(case), remedy.recompute_forward(case)
    step = case.reuse.write
    moved = f"{step.optimizer}.step()" if isinstance(step, Step) else ""
    what = facts.update("update", moved, written) if moved else facts.lines("write", written)
    return remedy.reorder_step(what), remedy.recompute_forward(case)


def _goes_into_stepped_network(case: Case) -> bool:
    """Does the pass come to the changed values on its way into a network alone that was stepped for an earlier pass,
    and not through it to one that is still to be stepped? To the network that it is for, those are data."""
    history, late, culprit = case.history, case.reuse.late, case.reuse.culprit
    under = history.optimizers_of(history.leaves_under(history.reached([culprit.id])))
    own = history.optimizers_of(history.leaves_under(history.walk_of(late))) - under
    stepped = {step.optimizer for step in history.steps if culprit.moment < step.moment < late.moment}
    return case.reuse.early is not None and bool(under and own) and under <= stepped and not late.trains & under


def _notes(case: Case) -> tuple[Note, ...]:
    early = case.reuse.early
    if early is not None and early.retains_graph and early.where is not None:
        flag = facts.code("flag", "create_graph=True" if early.creates_graph else "retain_graph=True")
        return (Note("kept_not_values", (flag, facts.lines("lines", early.where.site))),)
    return ()


def _words(update: str) -> Words:
    return Words(
        fault="a parameter is modified in place before the `backward()` that needs it",
        headline="<{parameter}><!parameter:a parameter> [was|is] modified in place before the `backward()` that needs "
        "its old values",
        why="The forward pass [saved|saves] <{parameter}><!parameter:a parameter> for its backward. "
        f"{update} [modified|modifies] it in place after that, so the gradient would be wrong, and PyTorch refuses.",
        labels={
            "built": "computed with <{parameter}><!parameter:a parameter> as it [was|is] then<, in {at_step}>",
            "written": "[modified|modifies] <{parameter}><!parameter:it> in place<, in {at_step}>",
            "reused": "needs <{parameter}><!parameter:a parameter> as it [was|is] in the forward pass",
        },
    )


WORDS = {"": _words("{update}"), "by_hand": _words("The in-place write< on {write}>")}
