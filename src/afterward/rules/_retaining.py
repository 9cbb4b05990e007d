"""What PyTorch's own advice, `retain_graph=True`, would do in the program at hand."""

from __future__ import annotations

from dataclasses import replace

from afterward.model import facts
from afterward.model.facts import Note
from afterward.model.history import LeafId, Pass, Step
from afterward.model.site import Site
from afterward.rules import _sites as at
from afterward.rules._cause import Case, Cause, leaves_directly_under


def what_if_retained(case: Case) -> Note:
    """What PyTorch's own advice, `retain_graph=True`, would do in this very program."""
    early = case.reuse.early
    value, lines = facts.code("value", at.known_name(case)), facts.lines("lines", _line(case))
    kept = facts.size("bytes", early.bytes if early is not None else 0)
    if case.reuse.late.call == "read":
        return Note("retain_reads", (lines,))
    failing = _fails_next(case)
    if failing is not None:
        return failing
    if is_reduced_once(case):
        return Note("retain_reduced_once")
    if case.cause is Cause.STATE_CARRIED_OVER:
        return Note("retain_all_steps_risky" if case.stepped_between else "retain_all_steps")
    if case.cause is Cause.LOSS_ACCUMULATED:
        return Note("retain_counts_again")
    if case.cause is Cause.BACKWARD_TWICE and both_fill_grad(case) and not is_cleared(case):
        return Note("retain_doubles")
    if case.cause is Cause.SAVED_READ_AFTER_FREE and case.reuse.late.nested_in is not None:
        return Note("retain_not_inside", (facts.code("function", case.reuse.late.nested_in),))
    if case.cause is Cause.OUTPUT_NOT_DETACHED and case.next_turn_meets_it:
        return Note("retain_runs_then_fails" if is_cleared(case) else "retain_mixes_then_fails")
    if case.cause is Cause.OUTPUT_NOT_DETACHED and not is_cleared(case):
        return Note("retain_mixes")
    if case.cause is Cause.COMPILED_GRAPH_SHARED:
        return Note("retain_compiled_old" if case.old_leaves_stepped else "retain_compiled")
    if case.old_leaves_stepped:
        return Note("retain_old_values_now" if case.cause is Cause.HISTORY_CACHED else "retain_old_values")
    if case.stepped_between:
        return Note("retain_unstepped", (value, kept))
    if zeroed_between(case):
        return Note("retain_cleared", (kept,))
    if early is not None and (early.id, case.reuse.late.id) in case.history.links:
        return Note("retain_flat")
    form = outcome(case)
    return Note(f"retain_right_{form}" if form else "retain_right", (lines, kept))


def is_reduced_once(case: Case) -> bool:
    """Do both passes go over one forward pass of a DistributedDataParallel module? It reduces in the first alone."""
    early = case.reuse.early
    return early is not None and bool(early.reduced & case.history.leaves_under(case.history.walk_of(case.reuse.late)))


def _line(case: Case) -> Site | None:
    early = case.reuse.early
    return early.where.site if early is not None and early.where is not None else None


def is_cleared(case: Case) -> bool:
    """Was all that the earlier pass added to the parameters of the old part cleared before the later one?"""
    early = case.reuse.early
    if early is None:
        return False
    produced = case.history.ledger.produced_by(early.id)
    old = leaves_directly_under(case.history, case.reuse.stale)
    fates = [fate for leaf, fate in produced.items() if leaf in old and case.history.optimizers_of([leaf])]
    return bool(fates) and all(fate.cleared and not fate.unseen for fate in fates)


def zeroed_between(case: Case) -> bool:
    """Were the gradients of the earlier pass gone when the later one began? Only where a look has shown it."""
    early, late = case.reuse.early, case.reuse.late
    if early is None or early.call != "backward" or late.call != "backward" or late.optimizers is None:
        return False
    shared = shared_parameters(case)
    return bool(shared) and not shared & case.history.ledger.filled(late.id)


def shared_parameters(case: Case) -> frozenset[LeafId]:
    """What both passes reach: parameters of optimizers, where there are any. An input keeps its gradient unasked."""
    early = case.reuse.early
    shared = early.reached & case.reuse.late.reached if early is not None else frozenset()
    return frozenset(leaf for leaf in shared if case.history.optimizers_of([leaf])) or shared


def both_fill_grad(case: Case) -> bool:
    """Does each of the two passes add to `.grad`? What `autograd.grad` computes, it returns."""
    return case.reuse.late.call == "backward" and case.reuse.early is not None and case.reuse.early.call == "backward"


def graph_is_meant(case: Case) -> bool:
    """Does `autograd.grad` ask the same graph again, as for the rows of a Jacobian? Nothing adds up in `.grad` then."""
    return case.reuse.late.call == "grad" and not both_fill_grad(case) and not case.stepped_between


def outcome(case: Case) -> str:
    """What the gradients are if the graph is kept, as a form of that remedy."""
    if case.reuse.late.call == "read":
        return ""
    if case.reuse.late.call == "grad":
        return "returned"
    if case.reuse.early is not None and case.reuse.early.call == "grad":
        return "first_returned"
    return "add_up"


def is_spoilt(case: Case) -> bool:
    """Was something that the old part had saved changed since, so that no pass can go through it any more?"""
    early = case.reuse.early
    return early is not None and _fails_here(case, early) is not None


def _fails_next(case: Case) -> Note | None:
    """Would the retained graph be spoilt? A step since has changed a parameter that the old part had saved."""
    early, late = case.reuse.early, case.reuse.late
    if early is None:
        return None
    failing = _fails_here(case, early)
    if failing is not None:
        return failing
    steps = case.history.steps_between(early.moment, late.moment)
    spoilt = _spoilt(case, sorted(_carried_on(case), reverse=True), steps)
    reused = at.reused_site(case)
    if spoilt is None or reused.step is None:
        return None
    known = (facts.code("parameter", spoilt[0]), at.update_of(spoilt[1]))
    then = facts.step("step", replace(reused, step=reused.step + 1, cell=""))
    if spoilt[1].unnoticed:
        return Note("retain_wrong_next", (*known, then))
    if case.cause is Cause.HISTORY_CACHED:  # whether the next step reads what this one keeps is not known
        return Note("retain_fails_later", known)
    return Note("retain_fails_next", (*known, then))


def _fails_here(case: Case, early: Pass) -> Note | None:
    late, stale = case.reuse.late, sorted(case.reuse.stale, reverse=True)
    spoilt = _spoilt(case, stale, case.history.steps_between(early.moment, late.moment))
    if spoilt is not None:
        kind = "retain_wrong" if spoilt[1].unnoticed else "retain_fails_here"
        return Note(kind, (facts.code("parameter", spoilt[0]), at.update_of(spoilt[1])))
    unseen = _spoilt(case, stale, (Step(None, early.moment, "", late.stale),))
    if unseen is not None:  # by whom is not known: by an optimizer between two calls of its closure, perhaps
        return Note("retain_fails_here_unseen", (facts.code("parameter", unseen[0]),))
    return None


def _spoilt(case: Case, numbers: list[int], steps: tuple[Step, ...]) -> tuple[str, Step] | None:
    """A parameter that these nodes have saved and one of these steps holds."""
    for step in steps:
        for number in numbers:
            for saved in case.history.node(number).saved:
                if saved.leaf is not None and saved.leaf in step.leaves and not saved.elsewhere:
                    return case.history.leaf(saved.leaf).name, step
    return None


def _carried_on(case: Case) -> frozenset[int]:
    """The nodes of this step that the next one would walk: those behind the state as this step has renewed it."""
    where = case.reuse.entry.node.where
    if case.cause not in (Cause.STATE_CARRIED_OVER, Cause.HISTORY_CACHED) or where is None:
        return frozenset()
    fresh = case.reuse.fresh
    renewed = [n for n in fresh if (w := case.history.node(n).where) is not None and w.site.same_lines(where.site)]
    return case.history.reached(renewed, within=frozenset(fresh))
