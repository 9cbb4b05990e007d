"""What PyTorch's own advice, `retain_graph=True`, would do in the program at hand.

Facts of the case, each asked of the ledgers alone, and a table of outcomes: of its rows exactly one fits any facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from afterward.model import facts
from afterward.model.facts import Fact, Note
from afterward.model.history import LeafId, Step
from afterward.rules import _sites as at
from afterward.rules._cause import Case, Cause, leaves_directly_under


class Flag(Enum):
    """Does it get to where the graph is freed, and is that graph one that can be kept?"""

    ARRIVES = "arrives"
    ONLY_READ = "only_read"  # nothing is computed with the graph: a saved value is looked at
    NESTED = "nested"  # the call is inside of a custom function's backward
    COMPILED = "compiled"  # the graph is one node of a compiled region


class Values(Enum):
    """What a pass would find of the parameters and values that the kept graph had saved."""

    SAME = "same"
    OVERWRITTEN = "overwritten"
    BY_HAND = "by_hand"  # by a write that is not known
    UNNOTICED = "unnoticed"  # by a fused optimizer: torch raises nothing


class Adds(Enum):
    """Which gradients the later pass would add, beside those of its own loss, to gradients that are there."""

    OWN = "own"
    SAME_LOSS = "same_loss"
    LOSSES_SO_FAR = "losses_so_far"  # a running sum: of every earlier step
    EARLIER_STEPS = "earlier_steps"  # a state: of its own loss, through every earlier step
    OTHER_NETWORK = "other_network"


class Stepped(Enum):
    """What an optimizer has changed between the two passes."""

    NOTHING = "nothing"
    OTHERS = "others"
    OLD_PART = "old_part"


class Grad(Enum):
    """Where the two passes leave the gradients of what both reach."""

    ADD_UP = "add_up"
    CLEARED = "cleared"  # the first one's, before the second
    RETURNED = "returned"  # the second one is `autograd.grad`
    FIRST_RETURNED = "first_returned"
    FLAT = "flat"  # what the first one returned is to be part of a loss, and has no graph


@dataclass(frozen=True, slots=True)
class Retained:
    """All that the outcome depends on."""

    flag: Flag
    now: Values  # for the pass that fails
    then: Values  # for that of the next step
    freed_then: bool  # the next iteration would meet what this one has freed
    lasting: bool  # what holds the graph goes beyond its step; whether the next one reads it is not known
    reduced_once: bool  # by DistributedDataParallel, in the first pass alone
    adds: Adds
    stepped: Stepped
    grad: Grad


Row = Mapping[str, object]  # fields of `Retained`: the value that each must have, or several of which it must have one


def _with(row: Row, **more: object) -> Row:
    return {**row, **more}


_ARRIVES = _with({}, flag=Flag.ARRIVES)
_RUNS_NOW = _with(_ARRIVES, now=Values.SAME)
_MET_THEN = (Values.OVERWRITTEN, Values.BY_HAND)
_RUNS = _with(_RUNS_NOW, then=Values.SAME)
_REDUCED = _with(_RUNS, reduced_once=False)
_OWN = _with(_REDUCED, adds=Adds.OWN, freed_then=False)
_UNSTEPPED = _with(_OWN, stepped=Stepped.NOTHING)

# The notes are called after these: `retain_reads`.
OUTCOMES: Mapping[str, Row] = {
    "reads": _with({}, flag=Flag.ONLY_READ),
    "not_inside": _with({}, flag=Flag.NESTED),
    "compiled": _with({}, flag=Flag.COMPILED, stepped=(Stepped.NOTHING, Stepped.OTHERS)),
    "compiled_old": _with({}, flag=Flag.COMPILED, stepped=Stepped.OLD_PART),
    "fails_here": _with(_ARRIVES, now=Values.OVERWRITTEN),
    "fails_here_unseen": _with(_ARRIVES, now=Values.BY_HAND),
    "wrong": _with(_ARRIVES, now=Values.UNNOTICED),
    "fails_next": _with(_RUNS_NOW, then=_MET_THEN, lasting=False),
    "fails_later": _with(_RUNS_NOW, then=_MET_THEN, lasting=True),
    "wrong_next": _with(_RUNS_NOW, then=Values.UNNOTICED),
    "reduced_once": _with(_RUNS, reduced_once=True),
    "all_steps": _with(_REDUCED, adds=Adds.EARLIER_STEPS, stepped=Stepped.NOTHING),
    "all_steps_risky": _with(_REDUCED, adds=Adds.EARLIER_STEPS, stepped=(Stepped.OTHERS, Stepped.OLD_PART)),
    "counts_again": _with(_REDUCED, adds=Adds.LOSSES_SO_FAR),
    "doubles": _with(_REDUCED, adds=Adds.SAME_LOSS),
    "mixes": _with(_REDUCED, adds=Adds.OTHER_NETWORK, freed_then=False),
    "mixes_then_fails": _with(_REDUCED, adds=Adds.OTHER_NETWORK, freed_then=True),
    "runs_then_fails": _with(_REDUCED, adds=Adds.OWN, freed_then=True),
    "old_values": _with(_OWN, stepped=Stepped.OLD_PART, lasting=False),
    "old_values_now": _with(_OWN, stepped=Stepped.OLD_PART, lasting=True),
    "unstepped": _with(_OWN, stepped=Stepped.OTHERS),
    "cleared": _with(_UNSTEPPED, grad=Grad.CLEARED),
    "flat": _with(_UNSTEPPED, grad=Grad.FLAT),
    "right_add_up": _with(_UNSTEPPED, grad=Grad.ADD_UP),
    "right_returned": _with(_UNSTEPPED, grad=Grad.RETURNED),
    "right_first_returned": _with(_UNSTEPPED, grad=Grad.FIRST_RETURNED),
}


def fitting(kept: Retained) -> list[str]:
    """The outcomes that these facts allow: one."""
    return [name for name, row in OUTCOMES.items() if all(_fits(getattr(kept, key), row[key]) for key in row)]


def _fits(value: object, wanted: object) -> bool:
    return value in wanted if isinstance(wanted, tuple) else value is wanted


def what_if_retained(case: Case) -> Note:
    """What PyTorch's own advice, `retain_graph=True`, would do in this very program."""
    now, then = _overwritten_now(case), _overwritten_then(case)
    kept = Retained(
        flag=_flag(case),
        now=now.saved,
        then=then.saved,
        freed_then=case.cause is Cause.OUTPUT_NOT_DETACHED and case.next_iteration_meets_it,
        lasting=case.cause is Cause.HISTORY_CACHED,
        reduced_once=is_reduced_once(case),
        adds=_adds(case),
        stepped=_stepped(case),
        grad=_grad(case),
    )
    (outcome,) = fitting(kept)
    known = (
        facts.code("value", at.known_name(case)),
        facts.code("function", case.reuse.late.nested_in or ""),
        facts.lines("lines", *at.freeing_sites(case)),
        facts.size("bytes", case.reuse.early.bytes if case.reuse.early is not None else 0),
    )
    spoilt = then if now.saved is Values.SAME else now
    return Note(f"retain_{outcome}", (*spoilt.facts, *known))


# The facts


def _flag(case: Case) -> Flag:
    if case.reuse.late.call == "read":
        return Flag.ONLY_READ
    if case.cause is Cause.SAVED_READ_AFTER_FREE and case.reuse.late.nested_in is not None:
        return Flag.NESTED
    return Flag.COMPILED if case.cause is Cause.COMPILED_GRAPH_SHARED else Flag.ARRIVES


def _adds(case: Case) -> Adds:
    """What the later pass goes through besides its own: the earlier one's gradients for that may be gone by then."""
    adds = _ADDS.get(case.cause, Adds.OWN)
    if adds is Adds.SAME_LOSS and not both_fill_grad(case):
        return Adds.OWN
    return Adds.OWN if adds in (Adds.SAME_LOSS, Adds.OTHER_NETWORK) and is_cleared(case) else adds


_ADDS: Mapping[Cause | None, Adds] = {
    Cause.STATE_CARRIED_OVER: Adds.EARLIER_STEPS,
    Cause.LOSS_ACCUMULATED: Adds.LOSSES_SO_FAR,
    Cause.BACKWARD_TWICE: Adds.SAME_LOSS,
    Cause.OUTPUT_NOT_DETACHED: Adds.OTHER_NETWORK,
}


def _stepped(case: Case) -> Stepped:
    if case.old_leaves_stepped:
        return Stepped.OLD_PART
    return Stepped.OTHERS if case.stepped_between else Stepped.NOTHING


def _grad(case: Case) -> Grad:
    if derivative_is_meant(case):
        return Grad.FLAT
    if case.reuse.late.call != "backward":
        return Grad.RETURNED
    if not both_fill_grad(case):
        return Grad.FIRST_RETURNED if case.reuse.early is not None else Grad.ADD_UP
    return Grad.CLEARED if is_cleared(case) else Grad.ADD_UP


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


def add_up(case: Case) -> bool:
    """Are the gradients of both passes used together: is nothing cleared, and nothing stepped, between the two?"""
    return _grad(case) is Grad.ADD_UP and _stepped(case) is Stepped.NOTHING


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


def gradients_of(case: Case) -> str:
    """What the gradients are if the graph is kept, as a form of that remedy."""
    if case.reuse.late.call == "read":
        return ""
    if case.reuse.late.call == "grad":
        return "returned"
    if case.reuse.early is not None and case.reuse.early.call == "grad":
        return "first_returned"
    if is_taken_apart(case):
        return "apart"
    return "cleared" if _grad(case) is Grad.CLEARED else "add_up"


def is_spoilt(case: Case) -> bool:
    """Was something that the old part had saved changed since, so that no pass can go through it any more?"""
    return _overwritten_now(case).saved is not Values.SAME


@dataclass(frozen=True, slots=True)
class _Overwritten:
    """What a pass would find of the saved values, and what is to be said of that."""

    saved: Values = Values.SAME
    facts: tuple[Fact, ...] = ()


def _overwritten_now(case: Case) -> _Overwritten:
    """Is a value that the old part had saved no longer the one that was saved?"""
    early, late, stale = case.reuse.early, case.reuse.late, _newest_first(case, case.reuse.stale)
    if early is None:
        return _Overwritten()
    spoilt = _spoilt(case, stale, case.history.steps_between(early.moment, late.moment))
    if spoilt is not None:
        return _by_step(*spoilt)
    by_hand = _spoilt(case, stale, (Step(None, early.moment, "", late.stale),))
    names = [saved.rewritten for number in stale for saved in case.history.node(number).saved if saved.rewritten]
    if by_hand is None and not names:
        return _Overwritten()
    return _Overwritten(Values.BY_HAND, (facts.code("parameter", by_hand[0] if by_hand else names[0]),))


def _overwritten_then(case: Case) -> _Overwritten:
    """Does a step since change a parameter that the state, as this step has renewed it, had saved?"""
    early, late, reused = case.reuse.early, case.reuse.late, at.reused_site(case)
    if early is None or reused.step is None:
        return _Overwritten()
    steps = case.history.steps_between(early.moment, late.moment)
    spoilt = _spoilt(case, _newest_first(case, _carried_on(case)), steps)
    if spoilt is None:
        return _Overwritten()
    found = _by_step(*spoilt)
    return replace(found, facts=(*found.facts, facts.step("step", replace(reused, step=reused.step + 1, cell=""))))


def _by_step(parameter: str, step: Step) -> _Overwritten:
    known = (facts.code("parameter", parameter), at.update_of(step))
    return _Overwritten(Values.UNNOTICED if step.unnoticed else Values.OVERWRITTEN, known)


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
