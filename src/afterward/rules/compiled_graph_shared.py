"""AFT109: outputs of one compiled region have separate backward calls."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Severity
from afterward.model.history import History
from afterward.model.words import Words
from afterward.rules import _remedies as remedy
from afterward.rules._cause import Cause, cases
from afterward.rules._registry import rule
from afterward.rules._report import diagnosis


@rule("AFT109", Severity.ERROR, breaks=1)
def compiled_graph_shared(history: History) -> Iterator[Diagnosis]:
    """Two outputs of one compiled region have separate `backward()` calls, and the region is one node."""
    for case in cases(history, Cause.COMPILED_GRAPH_SHARED, ("second_backward", "donated_buffers")):
        # Its backward may write over what it saved: the graph can be kept only if that is ruled out.
        retain = remedy.retain_graph(case, "compiled")
        yield diagnosis(case, remedies=(remedy.combine_losses(case), retain))


WORDS = Words(
    fault="outputs of one compiled region have separate `backward()` calls",
    headline="<{value} and another output><!value:two outputs> of one compiled region have separate `backward()` calls",
    why="`torch.compile` turns a region into one node of the graph, so all its outputs share one graph. {freed_by} "
    "[freed|frees] the whole region, also the part that only this loss needs.",
    labels={"built": "one compiled region, one node< ({amount})>"},
)
