"""AFT109: outputs of one compiled region are swept separately."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Remedy, Severity
from afterward.model.history import History
from afterward.rules import _remedies as remedy
from afterward.rules import _speech as say
from afterward.rules import rule
from afterward.rules._cause import Case, Cause, case_of
from afterward.rules._report import diagnosis


@rule("AFT109", Severity.ERROR)
def compiled_graph_shared(history: History) -> Iterator[Diagnosis]:
    """Two outputs of one compiled region are swept separately, and the region is one node."""
    for late in history.broken_passes():
        case = case_of(history, late) if late.error in ("second_backward", "donated_buffers") else None
        if case is not None and case.cause is Cause.COMPILED_GRAPH_SHARED:
            yield _diagnose(case)


def _diagnose(case: Case) -> Diagnosis:
    return diagnosis(
        case,
        why="`torch.compile` turns a region into one node of the graph, so all its outputs share one history. "
        f"{say.freed_by(case).capitalize()} freed the whole region, also the part that only this loss needs.",
        built_text="one compiled region, one node",
        remedies=(remedy.combine_losses(case), _retain(case)),
    )


def _retain(case: Case) -> Remedy:
    """A compiled region's backward may write over what it saved: the graph can be kept only if that is ruled out."""
    return remedy.retain_graph(case, "compiled")
