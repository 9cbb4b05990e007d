"""AFT110: one forward pass of a DistributedDataParallel module, several backward passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Role, Severity
from afterward.model.history import History, Pass
from afterward.model.operations import operation
from afterward.model.site import Site
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules._cause import Case, case_of
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis


@rule("AFT110", Severity.ERROR, breaks=1)
def ddp_ready_twice(history: History) -> Iterator[Diagnosis]:
    """DistributedDataParallel allows one `backward()` per forward pass: a second one marks parameters ready again."""
    for late in history.broken_passes():
        if late.error != "ddp_ready_twice" or late.where is None:
            continue
        case = case_of(history, late)
        checkpoints = _checkpoints(history, late)
        if case is None and len(checkpoints) > (0 if late.searched else 1):
            yield _checkpointed(history, late, checkpoints)
        else:
            yield _diagnose(case) if case is not None else _unknown(late)


def _checkpoints(history: History, late: Pass) -> list[Site]:
    """The calls of `checkpoint` whose backward makes a pass of its own, in the order of the forward pass."""
    nodes = sorted((history.node(n) for n in history.walk_of(late) if history.knows(n)), key=lambda node: node.order)
    loop = late.where.innermost_iteration if late.where is not None else None
    return [n.where.site_at(loop) for n in nodes if n.where is not None and operation(n.op) == "CheckpointFunction"]


def _checkpointed(history: History, late: Pass, checkpoints: list[Site]) -> Diagnosis:
    assert late.where is not None
    site = late.where.dated_site
    first, *others = checkpoints
    if len(checkpoints) == 2 and not late.searched:
        labels = [Label(first, "first_use"), *(Label(one, "second_use") for one in others)]
    else:  # which two of them use it is not known
        labels = [Label(one, "checkpoint") for one in dict.fromkeys(checkpoints)]
    return Diagnosis(
        Label(site, Role.REUSED),
        tuple(labels),
        "search" if late.searched else "checkpoints",
        (facts.code("parameter", late.parameter),),
        remedies=(
            Remedy("no_reentrant", Effect.SAME_GRADIENTS, "", first, facts=(facts.lines("lines", *checkpoints),)),
            Remedy("no_reentrant", Effect.SAME_GRADIENTS, "search" if late.searched else "static", site),
        ),
        built=first,
        freed=site,
        reused=site,
        bridge=Bridge(late.parameter, "attribute") if late.parameter else None,
        caught=late.caught,
    )


def _diagnose(case: Case) -> Diagnosis:
    late, where = case.reuse.late, case.reuse.entry.node.where
    built = None
    if where is not None and late.where is not None:
        # The statement that called the wrapped module: the innermost one of a call that the pass is also in.
        built = where.site_at(case.loop, max(where.shared_call(late.where) - 1, 0))
    general = diagnosis(case, facts.code("late", late.receiver), remedies=(remedy.combine_losses(case),))
    reduced = [label for label in general.secondary if label.role == Role.FREED]
    first = [Label(built, Role.BUILT)] if built is not None else []
    return replace(general, built=built, notes=(), retain=None, secondary=(*first, *reduced))


def _unknown(late: Pass) -> Diagnosis:
    assert late.where is not None
    site = late.where.dated_site
    return Diagnosis(
        Label(site, Role.REUSED),
        form="unknown",
        facts=(facts.code("value", late.receiver),),
        reused=site,
        bridge=Bridge(late.receiver, "expression") if late.receiver else None,
        caught=late.caught,
    )


_FAULT = "a second `backward()` over one forward pass of a DistributedDataParallel module"

WORDS = {
    "": Words(
        fault=_FAULT,
        headline="a second `backward()`<, of {late},> over one forward pass of a DistributedDataParallel module",
        why="DistributedDataParallel reduces each parameter's gradient once per forward pass. {freed_by} [already "
        "did|does] that; this `backward()` reaches the same parameters again.",
        labels={
            "built": "one forward pass",
            "freed": "[reduced|reduces] the gradients here",
            "reused": "reaches parameters whose gradients [were|are] already reduced",
        },
    ),
    "unknown": Words(
        fault=_FAULT,
        headline="`backward()`< of {value}> [marked|marks] a parameter of a DistributedDataParallel module ready twice",
        labels={"reused": "reaches a parameter whose gradient [was|is] already reduced"},
    ),
    "search": Words(
        fault="a DistributedDataParallel module that searches for unused parameters does not see into a checkpoint",
        headline="<{parameter}><!parameter:a parameter> is used in a checkpoint, where `find_unused_parameters=True` "
        "does not see it",
        why="With `find_unused_parameters=True`, DistributedDataParallel searches the graph of each forward pass and "
        "marks the parameters that it does not find as ready. What a checkpoint with `use_reentrant=True` computes is "
        "not in that graph; its own backward pass then marks <{parameter}><!parameter:the parameter> a second time.",
        labels={
            "reused": "the checkpoint's own backward marks <{parameter}><!parameter:a parameter> ready again",
            "checkpoint": "a checkpoint that runs a backward pass of its own",
        },
    ),
    "checkpoints": Words(
        fault="a parameter is used in more than one checkpoint of a DistributedDataParallel module",
        headline="<{parameter}><!parameter:a parameter> is used in more than one checkpoint of a "
        "DistributedDataParallel module",
        why="DistributedDataParallel reduces each parameter's gradient once per forward pass. A checkpoint with "
        "`use_reentrant=True` runs a backward pass of its own, and each of these reaches the same parameters.",
        labels={
            "reused": "each checkpoint's own backward marks <{parameter}><!parameter:a parameter> ready",
            "first_use": "uses <{parameter}><!parameter:a parameter> in a checkpoint",
            "second_use": "uses it again in another checkpoint",
            "checkpoint": "a checkpoint that runs a backward pass of its own",
        },
    ),
}
