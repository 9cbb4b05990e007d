"""AFT100: the general report of a graph used after it was freed."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Effect, Label, Remedy, Severity
from afterward.model.history import History, Pass
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, case_of
from afterward.rules._report import FREED, diagnosis


@rule("AFT100", Severity.ERROR)
def graph_used_after_free(history: History) -> Iterator[Diagnosis]:
    """A pass needs values that an earlier pass has freed, by a way that fits no other rule."""
    for late in history.broken_passes():
        if late.error not in ("second_backward", "donated_buffers") or late.where is None:
            continue
        case = case_of(history, late)
        if case is None:
            yield _refused(late) if late.error == "donated_buffers" else _unknown(late)
        elif case.cause is None:
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    return diagnosis(
        case,
        why=f"This pass reaches a part of the graph that {say.freed_by(case)} has freed. "
        "A freed part can not be walked again.",
        built_text="built here",
        remedies=(remedy.recompute_forward(case), remedy.combine_losses(case)),
    )


def _unknown(late: Pass) -> Diagnosis:
    assert late.where is not None
    site = late.where.site_at(late.where.innermost_turn)
    return Diagnosis(
        message=FREED,
        primary=Label(site, "needs values that an earlier pass freed"),
        why="This pass reaches a part of the graph that was freed before. The record does not show by whom.",
        reused=site,
        caught=late.caught,
    )


def _refused(late: Pass) -> Diagnosis:
    """Nothing was freed: PyTorch refuses to keep the graph of a compiled region whose buffers were given away."""
    assert late.where is not None
    site = late.where.site_at(late.where.innermost_turn)
    return Diagnosis(
        message="the graph of a compiled region can not be kept",
        primary=Label(site, "asks to keep the graph, and the compiler has given its buffers away"),
        why="`torch.compile` lets the backward of a region write over the values that the region had saved "
        "(donated buffers). That saves memory, and rules out walking the region twice, so PyTorch refuses before it "
        "begins. Nothing was freed.",
        remedies=(
            Remedy(
                "combine_losses",
                Effect.SAME_GRADIENTS,
                "without_retain",
                site,
            ),
            Remedy(
                "retain_graph",
                Effect.SAME_GRADIENTS,
                "donated",
                site,
            ),
        ),
        reused=site,
        caught=late.caught,
    )
