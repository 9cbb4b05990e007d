"""AFT110: one forward pass of a DistributedDataParallel module, several backward passes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from afterward.model.diagnosis import Bridge, Diagnosis, Label, Severity
from afterward.model.history import History, Pass
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
        yield _diagnose(case) if case is not None else _unknown(late)


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
