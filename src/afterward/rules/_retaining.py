"""What PyTorch's own advice, `retain_graph=True`, would do in the program at hand."""

from __future__ import annotations

from afterward.model.figures import human
from afterward.model.history import LeafId, Pass, Step
from afterward.rules import _speech as say
from afterward.rules._cause import Case, Cause


def advice(case: Case) -> tuple[str, ...]:
    """What PyTorch's own advice, `retain_graph=True`, would do in this very program."""
    prefix = "`retain_graph=True` "
    if case.reuse.late.call == "read":
        return (prefix + f"{_on_line(case)}would let this line read the value, and keep the whole graph until then",)
    failing = _fails_next(case)
    if failing is not None:
        return (prefix + failing,)
    if is_reduced_once(case):
        diverge = "DistributedDataParallel reduces the gradients of the first `backward()` only, so ranks diverge"
        return (prefix + f"would run without an error and train wrongly: {diverge}",)
    if case.cause is Cause.STATE_CARRIED_OVER:
        risk = (
            ", and may fail in a later step: the optimizer has changed parameters since" if case.stepped_between else ""
        )
        return (prefix + f"would send gradients through every earlier step again, and keep all their graphs{risk}",)
    if case.cause is Cause.LOSS_ACCUMULATED:
        return (prefix + "would count the loss of every earlier step again in each pass",)
    if case.cause is Cause.BACKWARD_TWICE and both_fill_grad(case):
        return (prefix + "would run, and add the same gradients a second time",)
    if case.cause is Cause.SAVED_READ_AFTER_FREE and case.reuse.late.nested_in is not None:
        return (prefix + f"outside does not reach the pass inside {case.reuse.late.nested_in}",)
    if case.cause is Cause.OUTPUT_NOT_DETACHED:
        run = "would run in this turn, and fail in the next" if case.next_turn_meets_it else "would run"
        return (prefix + f"{run}, and give each network the gradients of the other's loss too",)
    if case.cause is Cause.COMPILED_GRAPH_SHARED and case.old_leaves_stepped:
        return (
            prefix + "would fail or compute with old values: the optimizer has changed parameters of the region since",
        )
    if case.cause is Cause.COMPILED_GRAPH_SHARED:
        refused = "but is refused where the compiler has given the region's buffers away (donated buffers)"
        return (prefix + f"would let the gradients of both passes add up, {refused}",)
    if case.old_leaves_stepped:
        when = " in this step" if case.cause is Cause.HISTORY_CACHED else ""
        return (prefix + f"would run{when}, on values computed before the optimizer's step",)
    if case.stepped_between:
        return (prefix + f"would run: no step has changed what {say.name_of(case)} was computed from; {_price(case)}",)
    if zeroed_between(case):
        run = "would run, unless a parameter that it had saved was changed by hand since"
        return (prefix + f"{run}; what the first pass added to `.grad` was zeroed since, and {_price(case)}",)
    if case.reuse.early is not None and (case.reuse.early.id, case.reuse.late.id) in case.history.links:
        return (prefix + "would run, and train nothing through what `autograd.grad` returned: it has no graph",)
    size = case.reuse.early.bytes if case.reuse.early is not None else 0
    cost = f", keeping {human(size)} until then" if size else ""
    return (prefix + f"{_on_line(case)}would be right here: {_OUTCOMES[outcome(case)]}{cost}",)


def is_reduced_once(case: Case) -> bool:
    """Do both passes go over one forward pass of a DistributedDataParallel module? It reduces in the first alone."""
    early = case.reuse.early
    return early is not None and bool(early.reduced & case.history.leaves_under(case.history.walk_of(case.reuse.late)))


def _on_line(case: Case) -> str:
    early = case.reuse.early
    return f"on line {early.where.site.line} " if early is not None and early.where is not None else ""


def _price(case: Case) -> str:
    size = case.reuse.early.bytes if case.reuse.early is not None else 0
    return f"it keeps {human(size)}, and each pass walks that part again" if size else "each pass walks that part again"


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


_OUTCOMES = {
    "": "gradients do not change",
    "returned": "`autograd.grad` returns what it computes and does not touch `.grad`",
    "first_returned": "the first call does not touch `.grad`",
    "add_up": "the gradients of both calls add up",
}


def is_spoilt(case: Case) -> bool:
    """Was something that the old part had saved changed since, so that no pass can go through it any more?"""
    early = case.reuse.early
    return early is not None and _fails_here(case, early) is not None


def _fails_next(case: Case) -> str | None:
    """Would the retained graph be spoilt? A step since has changed a parameter that the old part had saved."""
    early, late = case.reuse.early, case.reuse.late
    if early is None:
        return None
    failing = _fails_here(case, early)
    if failing is not None:
        return failing
    steps = case.history.steps_between(early.moment, late.moment)
    spoilt = _spoilt(case, sorted(_carried_on(case), reverse=True), steps)
    now = say.reused_site(case).step
    if spoilt is not None and now is not None:
        name, changed = spoilt[0], f"{say.step_words(spoilt[1], late)} changes it in place"
        if spoilt[1].unnoticed:
            return (
                f"would compute wrong gradients from step {now + 1} on: this step saves {name}, and {changed} (fused)"
            )
        if case.cause is Cause.HISTORY_CACHED:  # whether the next step reads what this one keeps is not known
            later = "would run in this step, and fail once a later one reads what this one keeps"
            return f"{later}: it saves {name}, and {changed}"
        return f"would fail in step {now + 1}: this step saves {name}, and {changed}"
    return None


def _fails_here(case: Case, early: Pass) -> str | None:
    late, stale = case.reuse.late, sorted(case.reuse.stale, reverse=True)
    spoilt = _spoilt(case, stale, case.history.steps_between(early.moment, late.moment))
    if spoilt is not None and spoilt[1].unnoticed:
        who = say.step_words(spoilt[1], late)
        return (
            f"would run and compute wrong gradients: {who} is fused and overwrote {spoilt[0]} without raising an error"
        )
    if spoilt is not None:
        return f"would fail here too: {spoilt[0]} was changed by {say.step_words(spoilt[1], late)} since, in place"
    unseen = _spoilt(case, stale, (Step(None, early.moment, "", late.stale),))
    if unseen is not None:  # by whom is not known: by an optimizer between two calls of its closure, perhaps
        return f"would fail here too: {unseen[0]} was changed in place between the two passes"
    return None


def _spoilt(case: Case, numbers: list[int], steps: tuple[Step, ...]) -> tuple[str, Step] | None:
    """A parameter that these nodes have saved and one of these steps holds."""
    for step in steps:
        for number in numbers:
            for saved in case.history.node(number).saved:
                if saved.leaf is not None and saved.leaf in step.leaves and not saved.elsewhere:
                    name = case.history.leaf(saved.leaf).name
                    return (f"`{name}`" if name else "a parameter that it saved"), step
    return None


def _carried_on(case: Case) -> frozenset[int]:
    """The nodes of this step that the next one would walk: those behind the state as this step has renewed it."""
    where = case.reuse.entry.node.where
    if case.cause not in (Cause.STATE_CARRIED_OVER, Cause.HISTORY_CACHED) or where is None:
        return frozenset()
    fresh = case.reuse.fresh
    renewed = [n for n in fresh if (w := case.history.node(n).where) is not None and w.site.same_lines(where.site)]
    return case.history.reached(renewed, within=frozenset(fresh))
