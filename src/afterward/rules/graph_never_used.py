"""AFT305: operations are recorded that no pass ever sweeps."""

from __future__ import annotations

from collections.abc import Iterator

from afterward.model.diagnosis import Diagnosis, Effect, Remedy, Severity
from afterward.model.history import History
from afterward.rules import rule
from afterward.rules._silent import warning


@rule("AFT305", Severity.INFO)
def graph_never_used(history: History) -> Iterator[Diagnosis]:
    """A forward pass is recorded, and no pass ever sweeps it: evaluation without `no_grad`, an output not used."""
    for one in history.wasted:
        share = 100 * one.nodes / one.recorded
        took = f" They took about {100 * one.time_share:.0f} % of the time." if one.time_share >= 0.005 else ""
        how = "no pass came after them" if one.after_last else "every pass after them was looked at"
        yield warning(
            "a forward pass is recorded for a backward that never comes",
            one.site,
            f"recorded {one.nodes:,} nodes in {one.times:,} runs, {share:.0f} % of all that was recorded",
            "Each operation on a parameter is recorded, and what its backward would need is saved, until the result "
            f"is dropped. Of the {one.judged:,} runs that could be judged ({how}), no pass has walked a single node."
            f"{took}",
            Remedy(
                "no_grad",
                Effect.SAME_GRADIENTS,
                "",
                one.site,
            ),
            nodes=one.nodes,
        )
