"""What PyTorch's own advice, `retain_graph=True`, would do in the program at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from afterward.model import facts
from afterward.model.facts import Note
from afterward.model.history import LeafId, Step
from afterward.rules import _sites as at
from afterward.rules._cause import Case, Cause, leaves_directly_under


def what_if_retained(case: Case) -> Note:
    """What PyTorch's own advice, `retain_graph=True`, would do in this very program: the first that is so."""
    return next(note for note in (ask(case) for ask in _QUESTIONS) if note is not None)


def _reads(case: Case) -> Note | None:
    """The graph is only read: nothing is computed with it."""
    return (
        Note("retain_reads", (facts.lines("lines", *at.freeing_sites(case)),))
        if case.reuse.late.call == "read"
        else None
    )


def _is_reduced_once(case: Case) -> Note | None:
    return Note("retain_reduced_once") if is_reduced_once(case) else None


def _counts_again(case: Case) -> Note | None:
    """Both passes compute gradients of one thing: of every earlier step, of a loss, of another network's loss."""
    if case.cause is Cause.STATE_CARRIED_OVER:
        return Note("retain_all_steps_risky" if case.stepped_between else "retain_all_steps")
    if case.cause is Cause.LOSS_ACCUMULATED:
        return Note("retain_counts_again")
    if case.cause is Cause.BACKWARD_TWICE and both_fill_grad(case) and not is_cleared(case):
        return Note("retain_doubles")
    if case.cause is Cause.OUTPUT_NOT_DETACHED and case.next_iteration_meets_it:
        return Note("retain_runs_then_fails" if is_cleared(case) else "retain_mixes_then_fails")
    return Note("retain_mixes") if case.cause is Cause.OUTPUT_NOT_DETACHED and not is_cleared(case) else None


def _does_not_get_there(case: Case) -> Note | None:
    """The flag does not reach what needs it: a call inside of a custom function, a compiled region."""
    if case.cause is Cause.SAVED_READ_AFTER_FREE and case.reuse.late.nested_in is not None:
        return Note("retain_not_inside", (facts.code("function", case.reuse.late.nested_in),))
    if case.cause is Cause.COMPILED_GRAPH_SHARED:
        return Note("retain_compiled_old" if case.old_leaves_stepped else "retain_compiled")
    return None


def _uses_old_values(case: Case) -> Note | None:
    if case.old_leaves_stepped:
        return Note("retain_old_values_now" if case.cause is Cause.HISTORY_CACHED else "retain_old_values")
    return None


def _keeps_apart(case: Case) -> Note | None:
    """What the first pass added to `.grad` is not there any more as the second adds to it: used, or cleared."""
    if case.stepped_between:
        return Note("retain_unstepped", (facts.code("value", at.known_name(case)), _kept(case)))
    return Note("retain_cleared", (_kept(case),)) if both_fill_grad(case) and is_cleared(case) else None


def _is_flat(case: Case) -> Note | None:
    return Note("retain_flat") if derivative_is_meant(case) else None


def _is_right(case: Case) -> Note:
    form = outcome(case)
    return Note(
        f"retain_right_{form}" if form else "retain_right", (facts.lines("lines", *at.freeing_sites(case)), _kept(case))
    )


def _kept(case: Case) -> facts.Fact:
    return facts.size("bytes", case.reuse.early.bytes if case.reuse.early is not None else 0)


def is_reduced_once(case: Case) -> bool:
    """Do both passes go over one forward pass of a DistributedDataParallel module? It reduces in the first alone."""
    early = case.reuse.early
    return early is not None and bool(early.reduced & case.history.leaves_under(case.history.walk_of(case.reuse.late)))


def is_cleared(case: Case) -> bool:
    """Was all that the earlier pass added to the parameters of the old part cleared before the later one?"""
    early = case.reuse.early
    if early is None:
        return False
    produced = case.history.ledger.produced_by(early.id)
    old = _trained(case, leaves_directly_under(case.history, case.reuse.stale) & produced.keys())
    return bool(old) and all(produced[leaf].cleared and not produced[leaf].unseen for leaf in old)


def is_taken_apart(case: Case) -> bool:
    """Does the program read what the earlier pass added, and clear it before the later one: gradients one by one?"""
    early = case.reuse.early
    if early is None or not both_fill_grad(case) or not is_cleared(case):
        return False
    produced = case.history.ledger.produced_by(early.id)
    return any(produced[leaf].read for leaf in shared_parameters(case) & produced.keys())


def derivative_is_meant(case: Case) -> bool:
    """Is what the earlier `autograd.grad` returned to have a graph: a part of the later loss, or, as the later call
    asks for one, a derivative beside another one of the same value?"""
    early, late = case.reuse.early, case.reuse.late
    if early is None or early.call != "grad" or early.creates_graph:
        return False
    return case.history.feeds(early, late) or (late.call == "grad" and late.creates_graph)


def shared_parameters(case: Case) -> frozenset[LeafId]:
    """What both passes reach: parameters of optimizers, where there are any. An input keeps its gradient unasked."""
    early = case.reuse.early
    return _trained(case, early.reached & case.reuse.late.reached) if early is not None else frozenset()


def _trained(case: Case, leaves: frozenset[LeafId]) -> frozenset[LeafId]:
    """Those that optimizers hold, where there are any."""
    return frozenset(leaf for leaf in leaves if case.history.optimizers_of([leaf])) or leaves


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
    return "apart" if is_taken_apart(case) else "add_up"


def is_spoilt(case: Case) -> bool:
    """Was something that the old part had saved changed since, so that no pass can go through it any more?"""
    return _fails_here(case) is not None


def _fails_here(case: Case) -> Note | None:
    """Is a value that the old part had saved no longer the one that was saved? Then this pass cannot use it."""
    early, late, stale = case.reuse.early, case.reuse.late, _newest_first(case, case.reuse.stale)
    if early is None:
        return None
    spoilt = _spoilt(case, stale, case.history.steps_between(early.moment, late.moment))
    if spoilt is not None:
        kind = "retain_wrong" if spoilt[1].unnoticed else "retain_fails_here"
        return Note(kind, (facts.code("parameter", spoilt[0]), at.update_of(spoilt[1])))
    by_hand = _spoilt(case, stale, (Step(None, early.moment, "", late.stale),))
    names = [saved.rewritten for number in stale for saved in case.history.node(number).saved if saved.rewritten]
    if by_hand is not None or names:
        return Note("retain_fails_here_unseen", (facts.code("parameter", by_hand[0] if by_hand else names[0]),))
    return None


def _fails_next(case: Case) -> Note | None:
    """Does a step since change a parameter that the state, as this step has renewed it, had saved?"""
    early, late = case.reuse.early, case.reuse.late
    if early is None:
        return None
    steps = case.history.steps_between(early.moment, late.moment)
    spoilt = _spoilt(case, _newest_first(case, _carried_on(case)), steps)
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


def _newest_first(case: Case, numbers: frozenset[int]) -> list[int]:
    """As the engine goes through them."""
    return sorted(numbers, key=lambda number: case.history.node(number).order, reverse=True)


def _spoilt(case: Case, numbers: list[int], steps: tuple[Step, ...]) -> tuple[str, Step] | None:
    """A parameter that these nodes have saved and one of these steps holds."""
    for step in steps:
        for number in numbers:
            kept = (saved.leaf for saved in case.history.node(number).saved if not saved.elsewhere)
            names = [case.history.leaf(leaf).name for leaf in kept if leaf is not None and leaf in step.leaves]
            if names:  # the weight rather than the bias, where both are: no engine sees more than that of a freed node
                return max(names), step
    return None


def _carried_on(case: Case) -> frozenset[int]:
    """The nodes of this step that the next one would walk: those behind the state as this step has renewed it."""
    where = case.reuse.entry.node.where
    if case.cause not in (Cause.STATE_CARRIED_OVER, Cause.HISTORY_CACHED) or where is None:
        return frozenset()
    fresh = case.reuse.fresh
    renewed = [n for n in fresh if (w := case.history.node(n).where) is not None and w.site.same_lines(where.site)]
    return case.history.reached(renewed, within=frozenset(fresh))


# Does it run? Is it reduced, and does the flag get there? Which gradients are added to which, of which values?
_QUESTIONS: tuple[Callable[[Case], Note | None], ...] = (
    _reads,
    _fails_here,
    _fails_next,
    _is_reduced_once,
    _does_not_get_there,
    _counts_again,
    _uses_old_values,
    _keeps_apart,
    _is_flat,
    _is_right,
)
