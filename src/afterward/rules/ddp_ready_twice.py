"""AFT110: one forward pass of a DistributedDataParallel module, several backward passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afterward.model import facts
from afterward.model.diagnosis import Bridge, Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, Pass, operation
from afterward.model.site import Site
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, case_of
from afterward.rules._report import diagnosis


@rule("AFT110", Severity.ERROR)
def ddp_ready_twice(history: History) -> Iterator[Diagnosis]:
    """DistributedDataParallel allows one backward per forward: a second one marks parameters ready again."""
    for late in history.broken_passes():
        if late.error != "ddp_ready_twice" or late.where is None:
            continue
        case = case_of(history, late)
        checkpoints = _checkpoints(history, late)
        if case is None and len(checkpoints) > 1:
            yield _checkpointed(history, late, checkpoints)
        else:
            yield _diagnose(case) if case is not None else _unknown(late)


def _checkpoints(history: History, late: Pass) -> list[Site]:
    """The calls of `checkpoint` whose backward makes a pass of its own, in the order of the forward pass."""
    nodes = sorted((history.node(n) for n in history.walk_of(late) if history.knows(n)), key=lambda node: node.order)
    loop = late.where.innermost_turn if late.where is not None else None
    return [n.where.site_at(loop) for n in nodes if n.where is not None and operation(n.op) == "CheckpointFunction"]


def _checkpointed(history: History, late: Pass, checkpoints: list[Site]) -> Diagnosis:
    assert late.where is not None
    site = late.where.site_at(late.where.innermost_turn)
    name = f"`{late.parameter}`" if late.parameter else "a parameter"
    first, *others = checkpoints
    if len(checkpoints) == 2:
        labels = [Label(first, f"uses {name} in a checkpoint")]
        labels += [Label(one, "uses it again in another checkpoint") for one in others]
    else:  # which two of them use it is not known
        labels = [Label(one, "a checkpoint that runs a backward pass of its own") for one in dict.fromkeys(checkpoints)]
    return Diagnosis(
        message=f"{name} is used in more than one checkpoint of a DistributedDataParallel module",
        primary=Label(site, f"each checkpoint's own backward marks {name} ready"),
        secondary=tuple(labels),
        why="DistributedDataParallel reduces each parameter's gradient once per forward pass. A checkpoint with "
        "`use_reentrant=True` runs a backward pass of its own, and each of these reaches the same parameters.",
        remedies=(
            Remedy("no_reentrant", Effect.SAME_GRADIENTS, "", first, facts=(facts.lines("lines", *checkpoints),)),
            Remedy("no_reentrant", Effect.SAME_GRADIENTS, "static", site),
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
    general = diagnosis(
        case,
        message="a second backward over one forward pass of a DistributedDataParallel module",
        why="DistributedDataParallel reduces each parameter's gradient once per forward pass. "
        f"{say.freed_by(case).capitalize()} has done that; this pass reaches the same parameters again.",
        built_text="one forward pass",
        reused_text="reaches parameters that were already reduced",
        remedies=(remedy.combine_losses(case),),
    )
    labels = [label for label in general.secondary if label.text == "freed here"]
    first = [Label(built, "one forward pass")] if built is not None else []
    return replace(
        general, built=built, notes=(), secondary=(*first, *(replace(n, text="reduced here") for n in labels))
    )


def _unknown(late: Pass) -> Diagnosis:
    assert late.where is not None
    site = late.where.site_at(late.where.innermost_turn)
    return Diagnosis(
        message="a parameter of a DistributedDataParallel module was made ready twice",
        primary=Label(site, "reaches a parameter that was already reduced"),
        reused=site,
        bridge=Bridge(late.receiver, "expression") if late.receiver else None,
        caught=late.caught,
    )
