"""AFT100: the general report of a graph used after it was freed."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model import facts
from afterward.model.diagnosis import Diagnosis, Effect, Label, Remedy, Role, Severity
from afterward.model.history import History, Pass
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules._cause import case_of
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis, unknown


@rule("AFT100", Severity.ERROR, breaks=1)
def graph_used_after_free(history: History) -> Iterator[Diagnosis]:
    """`backward()` needs values that an earlier one freed, in a way that fits no other rule."""
    for late in history.broken_passes():
        if late.error not in ("second_backward", "donated_buffers") or late.where is None:
            continue
        case = case_of(history, late)
        if case is None:
            yield _refused(late) if late.error == "donated_buffers" else unknown(late)
        elif case.cause is None:
            yield diagnosis(case, remedies=(remedy.recompute_forward(case), remedy.combine_losses(case)))


def _refused(late: Pass) -> Diagnosis:
    """Nothing was freed: PyTorch refuses to keep the graph of a compiled region whose buffers were given away."""
    assert late.where is not None
    site = late.where.dated_site
    return Diagnosis(
        Label(site, Role.REUSED),
        form="refused",
        facts=(facts.code("value", late.receiver),),
        remedies=(
            Remedy("combine_losses", Effect.SAME_GRADIENTS, "without_retain", site),
            Remedy("retain_graph", Effect.SAME_GRADIENTS, "donated", site),
        ),
        reused=site,
        caught=late.caught,
    )


_FAULT = "`backward()` through a graph that was already freed"

WORDS = {
    "": Words(
        fault=_FAULT,
        headline="<{value} depends on a graph that {freed_by} [already freed|frees]><!value:" + _FAULT + ">",
        why="This `backward()` reaches a part of the graph that {freed_by} [already freed|frees]. A freed part cannot "
        "be used again.",
        labels={"built": "[built|is built] here< ({amount})>"},
    ),
    "unknown": Words(
        fault=_FAULT,
        headline="`backward()`< of {value}> goes through a graph that was already freed",
        why="This `backward()` reaches a part of the graph that [was|is] freed before. The record does not show which "
        "call [freed|frees] it.",
        labels={"reused": "needs values that an earlier `backward()` [freed|frees]"},
    ),
    "refused": Words(
        fault="the graph of a compiled region cannot be kept",
        headline="`retain_graph=True` cannot keep the graph< of {value}>: it is that of a compiled region",
        why="`torch.compile` lets the backward of a region write over the values that the region [saved|saves] "
        "(donated buffers). That saves memory, and rules out a second `backward()`, so PyTorch refuses before it "
        "begins. Nothing [was|is] freed.",
        labels={"reused": "asks to keep the graph, but the compiler reuses its buffers"},
    ),
}
